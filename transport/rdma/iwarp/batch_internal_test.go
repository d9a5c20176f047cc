package iwarp

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestMemoryOfABatchGoes: a batch answers Reads of several regions, and some of it is
// written. Whichever region is deregistered may be used for something else at once.
func TestMemoryOfABatchGoes(t *testing.T) {
	const regions, size = 3, copyMax + 100
	for gone := range regions {
		for whole := range regions {
			t.Run(fmt.Sprintf("region %d after %d", gone, whole), func(t *testing.T) {
				d, err := newDevice(New(Config{}), "", addresses{})
				require.NoError(t, err)
				p := &queuePair{device: d, fd: -1, config: verbs.QueuePairConfig{Sends: &verbs.SendQueue{}}}
				d.pairs[p] = struct{}{}
				p.tx.ulpduMax, p.rx.inbound = kinULPDU, rdmap.NewInboundQueue(regions)
				var memory [regions][]byte
				var keys [regions]uint32
				for i := range regions {
					memory[i] = bytes.Repeat([]byte{byte('a' + i)}, size)
					r, err := d.Register(verbs.Registration{Data: memory[i], Access: verbs.AccessRemoteRead})
					require.NoError(t, err)
					keys[i] = r.LKey
					require.NoError(t, p.rx.inbound.Push(rdmap.ReadRequest{Size: size, SourceSTag: r.RKey, SourceTO: r.Address}))
				}
				require.True(t, p.gather())
				require.Zero(t, p.rx.inbound.Len())
				p.tx.drop(whole*mpa.FPDULength(ddp.TaggedLength+size) + 100)
				want, pieces := p.tx.rest(), len(p.tx.vector)
				require.NoError(t, d.Deregister(keys[gone]))
				clear(memory[gone])
				require.Equal(t, want, p.tx.rest())
				if gone < whole {
					require.Len(t, p.tx.vector, pieces, "a copy in vain")
				}
				delete(d.pairs, p)
				require.NoError(t, d.Close())
			})
		}
	}
}

// TestOverlap compares with a look at every byte.
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
