package iwarp

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// lone implements provider.Adapter for a device that a test makes without verbs.Open.
type lone struct{ sync.Mutex }

func (*lone) Happened(provider.Event) {}

// nothing is a send queue without work requests.
type nothing struct{ provider.Sends }

func (nothing) Next() *provider.Request { return nil }

// TestMemoryOfABatchGoes gathers the responses to Reads of several regions in one batch, and sends a part of the
// batch. Then it deregisters a region and overwrites the region's memory. The test checks that the bytes of this
// region that were not sent yet stay in the batch, and that nothing is copied if all of them were sent.
func TestMemoryOfABatchGoes(t *testing.T) {
	const regions, size = 3, copyMax + 100
	for gone := range regions {
		for whole := range regions {
			t.Run(fmt.Sprintf("region %d after %d", gone, whole), func(t *testing.T) {
				d, err := newDevice(New(Config{}), "", addresses{}, &lone{})
				require.NoError(t, err)
				in := &domain{device: d}
				p := &queuePair{device: d, domain: in, fd: -1, config: provider.QueuePairConfig{Sends: nothing{}}}
				d.pairs[p] = struct{}{}
				p.tx.ulpduMax, p.rx.inbound = kinULPDU, rdmap.NewInboundQueue(regions)
				var memory [regions][]byte
				var keys [regions]provider.Registered
				for i := range regions {
					memory[i] = bytes.Repeat([]byte{byte('a' + i)}, size)
					r, err := in.Register(memory[i], provider.AccessRemoteRead)
					require.NoError(t, err)
					keys[i] = r
					require.NoError(t, p.rx.inbound.Push(rdmap.ReadRequest{Size: size, SourceSTag: r.RKey, SourceTO: r.Address}))
				}
				require.True(t, p.gather())
				require.Zero(t, p.rx.inbound.Len())
				p.tx.drop(whole*mpa.FPDULength(ddp.TaggedLength+size) + 100)
				want, pieces, added := p.tx.rest(), len(p.tx.vector), p.tx.bytes
				require.Equal(t, regions*mpa.FPDULength(ddp.TaggedLength+size), added)
				require.NoError(t, in.Deregister(keys[gone]))
				clear(memory[gone])
				require.Equal(t, want, p.tx.rest())
				require.Equal(t, added, p.tx.bytes, "a copy adds no bytes")
				if gone < whole {
					require.Len(t, p.tx.vector, pieces, "a copy in vain")
				}
				delete(d.pairs, p)
				require.NoError(t, d.Close())
			})
		}
	}
}

// TestOverlap compares the result of overlap with a comparison of every byte.
func TestOverlap(t *testing.T) {
	memory := make([]byte, 6)
	for a := range 7 {
		for b := a; b < 7; b++ {
			for c := range 7 {
				for d := c; d < 7; d++ {
					common := false
					for i := a; i < b; i++ {
						common = common || i >= c && i < d
					}
					require.Equal(t, common, overlap(memory[a:b], memory[c:d]), "%d:%d, %d:%d", a, b, c, d)
				}
			}
		}
	}
}
