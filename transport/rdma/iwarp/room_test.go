package iwarp_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// roomSlot is the length of the longest message of TestRoom. roomGuard is the number of guard bytes around
	// each message.
	roomSlot  = 20_000
	roomGuard = 64
)

// roomy is a side whose messages have room around them.
type roomy struct {
	*side
	head, tail int
}

// place returns the memory of the message with the given number, which has n bytes, and of the room
// around it.
func (r *roomy) place(number, n int) verbs.Segment {
	return r.region.Segment(r.at(number)-r.head, r.head+n+r.tail)
}

// at returns the offset in memory of the message with the given number.
func (r *roomy) at(number int) int { return number*(roomSlot+roomGuard) + r.head }

// TestRoom posts lists of Sends of all lengths, Writes and Reads. All receives and some of the Sends have room
// around their messages, in which the provider may write headers. The test checks that every message arrives in
// its place, and that the guard bytes after the receive's memory stay unchanged.
func TestRoom(t *testing.T) {
	const receives, rounds = 6, 300
	sizes := []int{0, 1, 8, 100, 2049, 8192, 8192, 8192, 15_000, roomSlot}
	for name, c := range map[string]iwarp.Config{"default": {}, "no CRC": {NoCRC: true}, "segments": {SegmentMax: 1454}} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var sides [2]roomy
			for i := range sides {
				s := newSide(t, c, (receives+3)*(roomSlot+roomGuard))
				limits := s.adapter.Attributes()
				sides[i] = roomy{s, limits.Headroom, limits.Tailroom}
				require.Less(t, limits.Headroom+limits.Tailroom, roomGuard)
			}
			a, b := &sides[0], &sides[1]
			x, y := join(t, a.side, b.side)
			fill(a.memory, 3)
			post := func(number int) {
				require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: uint64(number), Flags: verbs.FlagRoom, Segments: []verbs.Segment{b.place(number, roomSlot)}}))
			}
			for i := range receives {
				post(i)
			}
			next := 0
			for round := range rounds {
				list := make([]verbs.WorkRequest, 0, receives)
				var lengths []int
				for range 1 + r.IntN(3)*r.IntN(2) {
					n := sizes[r.IntN(len(sizes))]
					w := verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagUnsignalled}
					switch r.IntN(4) {
					case 0:
						w.Op, w.Segments = verbs.OpWrite, []verbs.Segment{a.region.Segment(0, n)}
						to := b.region.Remote(b.at(receives), n)
						w.RemoteAddress, w.RKey = to.Address, to.RKey
					case 1:
						w.Segments = []verbs.Segment{a.region.Segment(a.at(len(lengths)), n)}
					default:
						w.Flags |= verbs.FlagRoom
						w.Segments = []verbs.Segment{a.place(len(lengths), n)}
					}
					if w.Op == verbs.OpSend {
						lengths = append(lengths, n)
					}
					list = append(list, w)
				}
				if r.IntN(3) == 0 { // a Read with FlagMore is posted before the list, whose last message is the longest
					from := b.region.Remote(b.at(receives+1), 100)
					require.NoError(t, x.Post(&verbs.WorkRequest{
						ID: 99, Op: verbs.OpRead, Flags: verbs.FlagMore, RemoteAddress: from.Address, RKey: from.RKey,
						Segments: []verbs.Segment{a.region.Segment(a.at(receives+1), 100)},
					}))
					list = append(list, verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagUnsignalled | verbs.FlagRoom, Segments: []verbs.Segment{a.place(len(lengths), roomSlot)}})
					lengths = append(lengths, roomSlot)
				}
				for i := range sides[0].memory[:receives] { // another pattern in each iteration
					a.memory[a.at(i)+r.IntN(8)]++
				}
				_, err := x.PostList(list)
				require.NoError(t, err)
				for i, n := range lengths {
					what := fmt.Sprintf("round %d, message %d of %d bytes", round, i, n)
					got := b.done(y, uint64(next), a.side)
					require.Equal(t, verbs.StatusSuccess, got.Status, what)
					require.Equal(t, n, got.Length, what)
					require.Equal(t, a.memory[a.at(i):a.at(i)+n], b.memory[b.at(next):b.at(next)+n], what)
					behind := b.at(next) + roomSlot + b.tail
					require.Equal(t, make([]byte, roomGuard-b.head-b.tail), b.memory[behind:behind+roomGuard-b.head-b.tail], what)
					clear(b.memory[b.at(next)-b.head : b.at(next)+roomSlot+b.tail])
					post(next)
					next = (next + 1) % receives
				}
			}
		})
	}
}
