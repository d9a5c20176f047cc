package iwarp_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// breach is a protocol violation that a peer sends, and the Terminate that has to answer it. The numbers of
// faults in this file are those of docs/connection-model.md, "Faults and tests".
type breach struct {
	name   string
	ulpdus func(m *meeting) [][]byte
	want   error
}

// meeting holds the regions that a breach can refer to.
type meeting struct {
	region  *verbs.MemoryRegion // peers have all rights
	local   *verbs.MemoryRegion // peers have no rights
	foreign *verbs.MemoryRegion // in another protection domain
	gone    uint32              // the STag of a region that was closed
}

// remote returns the STag and the offset with which a peer addresses the region at off.
func (m *meeting) remote(off int) (uint32, uint64) {
	r := m.region.Remote(0, 0)
	return r.RKey, r.Address + uint64(off)
}

// one returns a function for the field ulpdus of breach. The function returns a single ULPDU.
func one(b []byte) func(*meeting) [][]byte {
	return func(*meeting) [][]byte { return [][]byte{b} }
}

// many returns a function for the field ulpdus of breach. The function returns several ULPDUs.
func many(b ...[]byte) func(*meeting) [][]byte {
	return func(*meeting) [][]byte { return b }
}

// first returns a ULPDU with its first two octets replaced.
func first(b []byte, control, second byte) []byte {
	b = append([]byte(nil), b...)
	b[0], b[1] = control, second
	return b
}

const roomBytes = 4096

// headerBreaches contains the violations of faults 11 and 12.
var headerBreaches = []breach{
	{"11 length 0", one(nil), mpa.ErrLength},
	{"11 length 1", one([]byte{0x41}), mpa.ErrLength},
	{"11 length 13, tagged", one(write(1, 0, nil)[:13]), mpa.ErrLength},
	{"11 length 17, untagged", one(message(1, nil)[:17]), mpa.ErrLength},
	{"11 a read request cut short", one(readRequest(1, rdmap.ReadRequest{})[:45]), mpa.ErrLength},
	{"12 DDP version 0, tagged", one(first(write(1, 0, nil), 0xc0, 0x40)), ddp.ErrTaggedVersion},
	{"12 DDP version 2, tagged", one(first(write(1, 0, nil), 0xc2, 0x40)), ddp.ErrTaggedVersion},
	{"12 DDP version 3, untagged", one(first(message(1, nil), 0x43, 0x43)), ddp.ErrUntaggedVersion},
	{"12 RDMAP version 2", one(first(message(1, nil), 0x41, 0x83)), rdmap.ErrVersion},
	{"12 RDMAP version 3", one(first(message(1, nil), 0x41, 0xc3)), rdmap.ErrVersion},
	{"12 opcode 8, immediate data", one(first(message(1, make([]byte, 8)), 0x41, 0x48)), rdmap.ErrOpcode},
	{"12 opcode 10, atomic request", one(first(message(1, make([]byte, 52)), 0x41, 0x4a)), rdmap.ErrOpcode},
	{"12 opcode 11, atomic response", one(first(message(1, make([]byte, 12)), 0x41, 0x4b)), rdmap.ErrOpcode},
	{"12 opcode 15", one(first(message(1, nil), 0x41, 0x4f)), rdmap.ErrOpcode},
	{"12 an untagged Write", one(first(message(1, nil), 0x41, 0x40)), rdmap.ErrOpcode},
	{"12 a tagged Send", one(first(write(1, 0, nil), 0xc1, 0x43)), rdmap.ErrOpcode},
	{"12 queue 4", one(untagged(ddp.Untagged{Last: true, Control: 0x43, QN: 4, MSN: 1}, nil)), ddp.ErrQueue},
	{"12 queue 2^32-1", one(untagged(ddp.Untagged{Last: true, Control: 0x43, QN: math.MaxUint32, MSN: 1}, nil)), ddp.ErrQueue},
	{"12 a Send on the queue of reads", one(untagged(ddp.Untagged{Last: true, Control: 0x43, QN: 1, MSN: 1}, nil)), rdmap.ErrOpcode},
	{"12 a read request on the queue of Sends", one(untagged(ddp.Untagged{Last: true, Control: 0x41, MSN: 1}, make([]byte, 28))), rdmap.ErrOpcode},
}

// memoryBreaches contains the violations of fault 13, for Writes and for Reads.
var memoryBreaches = []breach{
	{"13 unknown STag", one(write(0xdeadbeef, 0, []byte("x"))), ddp.ErrSTag},
	{"13 STag of closed memory", func(m *meeting) [][]byte { return [][]byte{write(m.gone, 0, []byte("x"))} }, ddp.ErrSTag},
	{"13 another key octet", func(m *meeting) [][]byte {
		stag, to := m.remote(0)
		return [][]byte{write(stag^1, to, []byte("x"))}
	}, ddp.ErrSTag},
	{"13 another domain", func(m *meeting) [][]byte {
		r := m.foreign.Remote(0, 1)
		return [][]byte{write(r.RKey, r.Address, []byte("x"))}
	}, ddp.ErrNotAssociated},
	{"13 no right to write", func(m *meeting) [][]byte {
		r := m.local.Remote(0, 1)
		return [][]byte{write(r.RKey, r.Address, []byte("x"))}
	}, rdmap.ErrAccess},
	{"13 below the base", func(m *meeting) [][]byte {
		stag, to := m.remote(-1)
		return [][]byte{write(stag, to, []byte("x"))}
	}, ddp.ErrBounds},
	{"13 one beyond the end", func(m *meeting) [][]byte {
		stag, to := m.remote(roomBytes - 1)
		return [][]byte{write(stag, to, []byte("xy"))}
	}, ddp.ErrBounds},
	{"13 wrap", func(m *meeting) [][]byte {
		stag, _ := m.remote(0)
		return [][]byte{write(stag, math.MaxUint64, []byte("xy"))}
	}, ddp.ErrWrap},
	{"13 read of an unknown STag", one(readRequest(1, rdmap.ReadRequest{Size: 1, SourceSTag: 0xdeadbeef})), rdmap.ErrSTag},
	{"13 read of another domain", func(m *meeting) [][]byte {
		r := m.foreign.Remote(0, 1)
		return [][]byte{readRequest(1, rdmap.ReadRequest{Size: 1, SourceSTag: r.RKey, SourceTO: r.Address})}
	}, rdmap.ErrNotAssociated},
	{"13 no right to read", func(m *meeting) [][]byte {
		r := m.local.Remote(0, 1)
		return [][]byte{readRequest(1, rdmap.ReadRequest{Size: 1, SourceSTag: r.RKey, SourceTO: r.Address})}
	}, rdmap.ErrAccess},
	{"13 read beyond the end", func(m *meeting) [][]byte {
		stag, to := m.remote(1)
		return [][]byte{readRequest(1, rdmap.ReadRequest{Size: roomBytes, SourceSTag: stag, SourceTO: to})}
	}, rdmap.ErrBounds},
	{"15 read of 2^32-1", func(m *meeting) [][]byte {
		stag, to := m.remote(0)
		return [][]byte{readRequest(1, rdmap.ReadRequest{Size: math.MaxUint32, SourceSTag: stag, SourceTO: to})}
	}, rdmap.ErrBounds},
	{"13 read that wraps", func(m *meeting) [][]byte {
		stag, _ := m.remote(0)
		return [][]byte{readRequest(1, rdmap.ReadRequest{Size: 2, SourceSTag: stag, SourceTO: math.MaxUint64})}
	}, rdmap.ErrWrap},
	{"16 invalidate of an unknown STag", one(untagged(ddp.Untagged{Last: true, Control: 0x44, ULP: 0xdeadbeef, MSN: 1}, nil)), rdmap.ErrInvalidate},
	{"16 invalidate of a foreign STag", func(m *meeting) [][]byte {
		return [][]byte{untagged(ddp.Untagged{Last: true, Control: 0x44, ULP: m.foreign.Remote(0, 1).RKey, MSN: 1}, nil)}
	}, rdmap.ErrProtectedSTag},
}

// queueBreaches contains the violations of faults 14, 15 and 18. The endpoint has two receives of 100 bytes and
// an IRD of 4.
var queueBreaches = []breach{
	{"14 MSN 0", one(message(0, nil)), ddp.ErrSequence},
	{"14 MSN skipped", one(message(2, nil)), ddp.ErrSequence},
	{"14 MSN twice", many(message(1, nil), message(1, nil)), ddp.ErrSequence},
	{"14 next message before the last segment", many(
		untagged(ddp.Untagged{Control: 0x43, MSN: 1}, []byte("half")), message(2, nil)), ddp.ErrSequence},
	{"14 offset gap", many(untagged(ddp.Untagged{Control: 0x43, MSN: 1}, []byte("half")),
		untagged(ddp.Untagged{Last: true, Control: 0x43, MSN: 1, MO: 5}, nil)), ddp.ErrOffset},
	{"14 offset overlap", many(untagged(ddp.Untagged{Control: 0x43, MSN: 1}, []byte("half")),
		untagged(ddp.Untagged{Last: true, Control: 0x43, MSN: 1, MO: 3}, nil)), ddp.ErrOffset},
	{"14 begins within", one(untagged(ddp.Untagged{Last: true, Control: 0x43, MSN: 1, MO: math.MaxUint32}, []byte("x"))), ddp.ErrOffset},
	{"14 longer than its receive", one(message(1, make([]byte, 101))), ddp.ErrTooLong},
	{"14 longer in two segments", many(untagged(ddp.Untagged{Control: 0x43, MSN: 1}, make([]byte, 60)),
		untagged(ddp.Untagged{Last: true, Control: 0x43, MSN: 1, MO: 60}, make([]byte, 41))), ddp.ErrTooLong},
	{"14 a read request in two segments", one(untagged(ddp.Untagged{Control: 0x41, QN: 1, MSN: 1}, make([]byte, 28))), mpa.ErrLength},
	{"14 a read request too long", one(untagged(ddp.Untagged{Last: true, Control: 0x41, QN: 1, MSN: 1}, make([]byte, 29))), ddp.ErrTooLong},
	{"14 a read request out of order", one(readRequest(2, rdmap.ReadRequest{})), ddp.ErrSequence},
	{"15 an unrequested response", one(response(1, 0, []byte("x"))), rdmap.ErrOpcode},
	{"15 an empty unrequested response", one(response(1, 0, nil)), rdmap.ErrOpcode},
	{"18 no receive", many(message(1, nil), message(2, nil), message(3, nil)), ddp.ErrNoBuffer},
}

// meet connects a scripted peer to an endpoint, and posts two receives of 100 bytes.
func meet(t *testing.T) (*side, *meeting, *peer, *verbs.Endpoint) {
	t.Helper()
	s := newSide(t, iwarp.Config{}, roomBytes)
	m := &meeting{region: s.region}
	var err error
	m.local, err = s.domain.Register(make([]byte, 64), verbs.AccessLocalWrite)
	require.NoError(t, err)
	other, err := s.adapter.NewProtectionDomain()
	require.NoError(t, err)
	m.foreign, err = other.Register(make([]byte, 64), allRights)
	require.NoError(t, err)
	gone, err := s.domain.Register(make([]byte, 64), allRights)
	require.NoError(t, err)
	m.gone = gone.LKey()
	require.NoError(t, gone.Close())
	l := s.listen()
	p := dial(t, s, l.Address())
	ep := s.endpoint()
	p.open(strangerOffer(), ep)
	for id := range uint64(2) {
		require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{s.region.Segment(0, 100)}}))
	}
	return s, m, p, ep
}

// TestFaultBreaches sends every breach twice: in whole FPDUs and one octet at a time.
func TestFaultBreaches(t *testing.T) {
	for _, list := range [][]breach{headerBreaches, memoryBreaches, queueBreaches} {
		for _, b := range list {
			for _, step := range []int{1 << 20, 1} {
				name := b.name
				if step == 1 {
					name += ", by octets"
				}
				t.Run(name, func(t *testing.T) { testBreach(t, b, step) })
			}
		}
	}
}

// TestReadsBeyondDepth checks how many Reads a peer may have outstanding. The kernel's siw rounds the depth up
// to a power of two. So the device must serve as many Reads as this power of two, and one more Read is a fault.
// The peer sends all Reads in one write, so that the device answers no Read before the last one has arrived.
func TestReadsBeyondDepth(t *testing.T) {
	for depth, served := range map[uint16]int{1: 1, 3: 4, 4: 4, 5: 8, 7: 8, 16: 16} {
		for _, beyond := range []int{0, 1} {
			t.Run(fmt.Sprintf("%d agreed, %d outstanding", depth, served+beyond), func(t *testing.T) {
				s := newSide(t, iwarp.Config{}, roomBytes)
				l := s.listen()
				p := dial(t, s, l.Address())
				ep := s.endpoint()
				o := strangerOffer()
				o.ORD = depth
				p.open(o, ep)
				var all []byte
				for i := range uint32(served + beyond) {
					all = append(all, p.fpdu(readRequest(i+1, rdmap.ReadRequest{}))...)
				}
				p.send(all)
				if beyond > 0 {
					require.Equal(t, rdmap.CodeOf(rdmap.ErrStream), p.terminated().Code)
					require.ErrorIs(t, s.event(ep).Err, rdmap.ErrStream)
					return
				}
				for range served {
					h, err := ddp.ParseTagged(p.ulpdu())
					require.NoError(t, err)
					require.Equal(t, rdmap.ReadResponse.Control(), h.Control)
				}
			})
		}
	}
}

func testBreach(t *testing.T, b breach, step int) {
	t.Helper()
	s, m, p, ep := meet(t)
	bystander, other := join(t, s, s)
	var stream []byte
	for _, u := range b.ulpdus(m) {
		stream = append(stream, p.fpdu(u)...)
	}
	for len(stream) > 0 {
		n := min(step, len(stream))
		p.send(stream[:n])
		stream = stream[n:]
		s.poll()
	}
	got := p.terminated()
	require.Equal(t, rdmap.CodeOf(b.want), got.Code)
	if got.Code.Layer != rdmap.LayerLLP {
		require.NotEmpty(t, got.Header, "the segment at fault is shown")
		ulpdus := b.ulpdus(m)
		last := ulpdus[len(ulpdus)-1]
		require.Equal(t, last[:ddp.Length(last[0])], got.Header)
		require.Equal(t, len(last), int(got.SegmentLength))
	}
	e := s.event(ep)
	require.Equal(t, verbs.EventBroken, e.Type)
	require.ErrorIs(t, e.Err, b.want)
	// Both receives have completed. The status depends on the breach.
	for id := range uint64(2) {
		s.done(ep, id)
	}
	// Another connection of the adapter still works.
	require.NoError(t, other.PostReceive(&verbs.ReceiveRequest{ID: 90}))
	require.NoError(t, bystander.Post(&verbs.WorkRequest{ID: 91, Op: verbs.OpSend}))
	require.Equal(t, verbs.StatusSuccess, s.done(other, 90).Status)
}

// TestFaultAllowed sends ULPDUs that look like faults and are permitted.
func TestFaultAllowed(t *testing.T) {
	for _, c := range []struct {
		name   string
		ulpdus func(m *meeting) [][]byte
		// received is the number of receives that the ULPDUs complete. answered is the number of Read Responses
		// that they cause.
		received, answered int
	}{
		{"12 RDMAP version 0", one(first(message(1, nil), 0x41, 0x03)), 1, 0},
		{"12 reserved bits", one(first(message(1, nil), 0x7d, 0x73)), 1, 0},
		{"13 empty Write with garbage", one(write(0xdeadbeef, math.MaxUint64, nil)), 0, 0},
		{"13 Write to the very end", func(m *meeting) [][]byte {
			stag, to := m.remote(roomBytes - 2)
			return [][]byte{write(stag, to, []byte("xy"))}
		}, 0, 0},
		{"14 empty Sends consume receives", many(message(1, nil), message(2, nil)), 2, 0},
		{"14 an empty last segment", many(untagged(ddp.Untagged{Control: 0x43, MSN: 1}, []byte("all")),
			untagged(ddp.Untagged{Last: true, Control: 0x43, MSN: 1, MO: 3}, nil)), 1, 0},
		{"15 empty read with garbage", one(readRequest(1, rdmap.ReadRequest{SinkSTag: 5, SinkTO: 6, SourceSTag: 0xdeadbeef, SourceTO: 1})), 0, 1},
		{"15 as many reads as IRD", func(m *meeting) [][]byte {
			stag, to := m.remote(0)
			var all [][]byte
			for i := range uint32(4) {
				all = append(all, readRequest(i+1, rdmap.ReadRequest{SinkSTag: 9, SinkTO: uint64(i), Size: i, SourceSTag: stag, SourceTO: to}))
			}
			return all
		}, 0, 4},
		{"a Send between the segments of a Write", func(m *meeting) [][]byte {
			stag, to := m.remote(200)
			return [][]byte{
				tagged(ddp.Tagged{Control: 0x40, STag: stag, TO: to}, []byte("one")), message(1, []byte("between")),
				tagged(ddp.Tagged{Last: true, Control: 0x40, STag: stag, TO: to + 3}, []byte("two")),
			}
		}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, m, p, ep := meet(t)
			for _, u := range c.ulpdus(m) {
				p.send(p.fpdu(u))
			}
			for range c.answered {
				h, err := ddp.ParseTagged(p.ulpdu())
				require.NoError(t, err)
				require.Equal(t, rdmap.ReadResponse.Control(), h.Control)
			}
			for id := range uint64(c.received) {
				require.Equal(t, verbs.StatusSuccess, s.done(ep, id).Status)
			}
			// The connection still works, so that it ends in order.
			require.NoError(t, p.conn.CloseWrite())
			require.Equal(t, verbs.EventDisconnected, s.event(ep).Type)
		})
	}
}
