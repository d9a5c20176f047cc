package iwarp_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// configs are configurations whose connections differ on the wire.
var configs = map[string]iwarp.Config{
	"default":     {},
	"no CRC":      {NoCRC: true},
	"short":       {SegmentMax: 200},
	"revision 1":  {Revision: 1},
	"segments":    {SegmentMax: 1454},
	"bare shorts": {SegmentMax: 100, NoCRC: true},
	"packed":      {Packing: iwarp.PackAlways},
}

// lengths are the message lengths of fault 19 of docs/connection-model.md, "Faults and tests", as far as they
// fit into the tests' memory.
var lengths = []int{
	0, 1, 3, 4, 7, 8, 47, 48, 49, 1423, 1424, 1425, 2047, 2048, 2049, 4096, 32767, 65471, 65472, 65473, 65535, 65536, 65537,
	1<<20 - 1, 1 << 20, 1<<20 + 1,
}

// TestSend sends and receives messages whose memory consists of three segments. The sender and the receiver
// divide a message differently, and one segment is empty.
func TestSend(t *testing.T) {
	testSend(t, verbs.FlagSolicited,
		func(s *side, _, n int) []verbs.Segment {
			return []verbs.Segment{s.region.Segment(3, n/3), s.region.Segment(0, 0), s.region.Segment(3+n/3, n-n/3)}
		},
		func(s *side, _, n int) []verbs.Segment {
			return []verbs.Segment{s.region.Segment(1, n/2), s.region.Segment(0, 0), s.region.Segment(1+n/2, n-n/2)}
		})
}

// testSend sends one message of each length in every configuration. The functions in the arguments from
// and to return the segments of message i, which has n bytes. The sender's bytes begin at offset 3 of
// its memory, the receiver's at offset 1.
func testSend(t *testing.T, flags verbs.RequestFlags, from, to func(s *side, i, n int) []verbs.Segment) {
	t.Helper()
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			const room = 1<<20 + 64
			a, b := newSide(t, c, room), newSide(t, c, room)
			x, y := join(t, a, b)
			for i, n := range lengths {
				fill(a.memory, byte(i))
				clear(b.memory)
				require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 7, Segments: to(b, i, n)}))
				require.NoError(t, x.Post(&verbs.WorkRequest{ID: 8, Op: verbs.OpSend, Flags: flags, Segments: from(a, i, n)}))
				got := b.done(y, 7, a)
				require.Equal(t, verbs.StatusSuccess, got.Status, "length %d", n)
				require.Equal(t, n, got.Length)
				require.Equal(t, flags, got.Flags)
				require.Equal(t, a.memory[3:3+n], b.memory[1:1+n], "length %d", n)
				require.Zero(t, b.memory[0])
				require.Zero(t, b.memory[1+n])
				sent := a.done(x, 8, b)
				require.Equal(t, verbs.StatusSuccess, sent.Status)
				require.Equal(t, n, sent.Length)
			}
		})
	}
}

func TestWriteAndRead(t *testing.T) {
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			const room = 1<<20 + 64
			a, b := newSide(t, c, room), newSide(t, c, room)
			x, y := join(t, a, b)
			for i, n := range lengths {
				fill(a.memory, byte(i))
				clear(b.memory)
				to := b.region.Remote(5, n)
				require.NoError(t, x.Post(&verbs.WorkRequest{
					ID: 1, Op: verbs.OpWrite, RemoteAddress: to.Address, RKey: to.RKey,
					Segments: []verbs.Segment{a.region.Segment(3, n/4), a.region.Segment(3+n/4, n-n/4)},
				}))
				// The completion of a Send shows that the Writes before it are placed (RFC 5040 section 5.5).
				require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 2}))
				require.NoError(t, x.Post(&verbs.WorkRequest{ID: 3, Op: verbs.OpSend}))
				require.Equal(t, verbs.StatusSuccess, b.done(y, 2, a).Status)
				require.Equal(t, a.memory[3:3+n], b.memory[5:5+n], "length %d", n)
				require.Zero(t, b.memory[4])
				require.Zero(t, b.memory[5+n])
				require.Equal(t, n, a.done(x, 1, b).Length)
				a.done(x, 3, b)

				clear(a.memory)
				require.NoError(t, x.Post(&verbs.WorkRequest{
					ID: 4, Op: verbs.OpRead, RemoteAddress: to.Address, RKey: to.RKey,
					Segments: []verbs.Segment{a.region.Segment(9, n/5), a.region.Segment(9+n/5, n-n/5)},
				}))
				got := a.done(x, 4, b)
				require.Equal(t, verbs.StatusSuccess, got.Status)
				require.Equal(t, n, got.Length)
				require.Equal(t, b.memory[5:5+n], a.memory[9:9+n], "length %d", n)
				require.Zero(t, a.memory[8])
				require.Zero(t, a.memory[9+n])
			}
		})
	}
}

// TestBothWaysAtOnce has both sides send, write and read many bytes at the same time.
func TestBothWaysAtOnce(t *testing.T) {
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			const part, rounds = 100_000, 12
			a, b := newSide(t, c, 4*part), newSide(t, c, 4*part)
			x, y := join(t, a, b)
			fill(a.memory[:part], 1)
			fill(b.memory[:part], 2)
			sides := []struct {
				s, o *side
				ep   *verbs.Endpoint
			}{{a, b, x}, {b, a, y}}
			for _, e := range sides {
				for i := range rounds {
					require.NoError(t, e.ep.PostReceive(&verbs.ReceiveRequest{ID: uint64(100 + i), Segments: []verbs.Segment{e.s.region.Segment(part, part)}}))
				}
			}
			for i := range rounds {
				for _, e := range sides {
					own, target, source := e.s.region.Segment(0, part), e.o.region.Remote(2*part, part), e.o.region.Remote(0, part)
					post := func(w verbs.WorkRequest) { require.NoError(t, e.ep.Post(&w)) }
					post(verbs.WorkRequest{Op: verbs.OpWrite, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{own}, RemoteAddress: target.Address, RKey: target.RKey})
					post(verbs.WorkRequest{ID: uint64(200 + i), Op: verbs.OpRead, Segments: []verbs.Segment{e.s.region.Segment(3*part, part)}, RemoteAddress: source.Address, RKey: source.RKey})
					post(verbs.WorkRequest{ID: uint64(300 + i), Op: verbs.OpSend, Segments: []verbs.Segment{own}})
				}
			}
			for _, e := range sides {
				for i := range rounds {
					for _, base := range []int{100, 200, 300} {
						got := e.s.done(e.ep, uint64(base+i), e.o)
						require.Equal(t, verbs.StatusSuccess, got.Status)
						require.Equal(t, part, got.Length)
					}
				}
				for k := 1; k < 4; k++ {
					require.Equal(t, e.o.memory[:part], e.s.memory[k*part:(k+1)*part], "part %d", k)
				}
			}
		})
	}
}

// TestMoreReadsThanDepth posts more Reads than ORD allows. The test checks that all Reads succeed, and that a
// fenced Send that was posted after them waits for them.
func TestMoreReadsThanDepth(t *testing.T) {
	for _, depth := range []int{1, 2, 7} {
		t.Run(fmt.Sprintf("depth %d", depth), func(t *testing.T) {
			a, b := newSide(t, iwarp.Config{}, 1<<16), newSide(t, iwarp.Config{}, 1<<16)
			x, y := join(t, a, b, func(e *verbs.EndpointAttributes) { e.ReadsIn, e.ReadsOut = depth, depth })
			fill(b.memory, 9)
			require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 1000}))
			for i := range 50 {
				from := b.region.Remote(i*100, 100)
				require.NoError(t, x.Post(&verbs.WorkRequest{
					ID: uint64(i), Op: verbs.OpRead, Segments: []verbs.Segment{a.region.Segment(i*100, 100)}, RemoteAddress: from.Address, RKey: from.RKey,
				}))
			}
			require.NoError(t, x.Post(&verbs.WorkRequest{ID: 1001, Op: verbs.OpSend, Flags: verbs.FlagFence}))
			b.done(y, 1000, a)
			require.Equal(t, b.memory[:5000], a.memory[:5000], "the fenced Send comes after all Reads")
			for i := range 50 {
				require.Equal(t, verbs.StatusSuccess, a.done(x, uint64(i), b).Status)
			}
		})
	}
}

// TestLongPayloadIsReadIntoPlace checks that at most 5 % of the payload of long messages is copied out of the
// receive buffer. The other bytes are read from the socket directly into their target. The bytes that arrive
// together with a header and the last bytes of a segment have to be copied. Their number depends on how the kernel
// divides the stream. Therefore the test takes the median of five transfers.
func TestLongPayloadIsReadIntoPlace(t *testing.T) {
	var shares []float64
	for range 5 {
		placed, copied := receivedLong(t)
		shares = append(shares, float64(copied)/float64(placed))
	}
	slices.Sort(shares)
	require.Less(t, shares[2], 0.05, "%v", shares)
}

// receivedLong transfers long messages. It returns how many of their bytes were read into place and how many copied.
func receivedLong(t *testing.T) (placed, copied uint64) {
	t.Helper()
	const n, rounds = 1 << 20, 20
	a, b := newSide(t, iwarp.Config{}, n), newSide(t, iwarp.Config{}, n)
	x, y := join(t, a, b)
	to := b.region.Remote(0, n)
	require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{b.region.Segment(0, n)}}))
	for range rounds {
		require.NoError(t, x.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpWrite, Segments: []verbs.Segment{a.region.Segment(0, n)}, RemoteAddress: to.Address, RKey: to.RKey}))
	}
	require.NoError(t, x.Post(&verbs.WorkRequest{ID: 3, Op: verbs.OpSend, Segments: []verbs.Segment{a.region.Segment(0, n)}}))
	require.Equal(t, verbs.StatusSuccess, b.done(y, 1, a).Status)
	placed, copied = b.provider.Counters().BytesPlaced.Load(), b.provider.Counters().BytesCopied.Load()
	require.Equal(t, uint64(n*(rounds+1)), placed+copied)
	return placed, copied
}
