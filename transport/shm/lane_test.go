package shm_test

import (
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// order checks that messages of each peer arrive whole and in order.
type order struct {
	t    *testing.T
	next map[int]uint64
	left int
}

func (o *order) Arrive(peer int, h transport.Header, payload []byte) {
	if h.A != o.next[peer] || h.B != uint64(peer) || int(h.C) != len(payload) {
		o.t.Errorf("from %d: got message %d, want %d", peer, h.A, o.next[peer])
	}
	if want := pattern(len(payload), h.A); string(want) != string(payload) {
		o.t.Errorf("from %d: message %d of %d bytes is torn", peer, h.A, len(payload))
	}
	o.next[peer]++
	o.left--
}
func (o *order) Completed(int, uint64, uint64, error) {}
func (o *order) Down(d *transport.PeerDown)           { o.t.Error(d) }

// Messages of every pair arrive once, whole and in order, whatever their sizes,
// through inbox and rings and the change between them. More peers than rings
// keep some in the inbox.
func TestOrder(t *testing.T) {
	for _, ranks := range []int{2, 3, 12} {
		ts := local(t, ranks, false)
		const each = 600
		var wg sync.WaitGroup
		for me, tr := range ts {
			wg.Add(1)
			go func() {
				defer wg.Done()
				r := rand.New(rand.NewPCG(uint64(me), 7))
				o := &order{t: t, next: map[int]uint64{}, left: each * (ranks - 1)}
				for n := range uint64(each) {
					for peer := range ranks {
						if peer == me {
							continue
						}
						e, err := tr.Endpoint(peer)
						if err != nil {
							t.Error(err)
							return
						}
						size := r.IntN(100)
						if r.IntN(8) == 0 {
							size = r.IntN(e.Caps().MaxEager + 1)
						}
						h := transport.Header{A: n, B: uint64(me), C: uint64(size)}
						if err := sendAll(tr, o, e, h, pattern(size, n)); err != nil {
							t.Error(err)
							return
						}
					}
				}
				for o.left > 0 {
					if _, err := tr.Poll(o, 16); err != nil {
						t.Error(err)
						return
					}
					goruntime.Gosched()
				}
			}()
		}
		wg.Wait()
		require.False(t, t.Failed())
	}
}
