package malice_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// The ranks of the job.
const (
	victim = iota
	rogue  // the malicious rank
	bystander
	size
)

// network connects the ranks over TCP. The connections between the malicious rank and the victim
// run through wires.
type network struct {
	transports [size]*rdma.Transport
	sleepers   [size]transport.ChannelSleeper
	// in carries the connections that the malicious rank requests from the victim. out carries
	// the connections that the victim requests from the malicious rank.
	in, out *wire
}

var _ localjob.Network = (*network)(nil)

func newNetwork(tb testing.TB, script []byte, told []byte) *network {
	tb.Helper()
	n := &network{}
	address := func(rank int) netip.AddrPort { return n.transports[rank].Locations()[0].Address }
	n.in = newWire(tb, func() netip.AddrPort { return address(victim) }, true)
	n.out = newWire(tb, func() netip.AddrPort { return address(rogue) }, false)
	for _, w := range []*wire{n.in, n.out} {
		w.moves, w.raw = parse(script)
		w.told = told
	}
	for rank := range n.transports {
		t, err := rdma.New(rdma.Config{
			Rank: rank, Size: size, Job: "test", Secret: []byte("a secret of the tests"), Sleeper: &n.sleepers[rank],
			Rails: []rdma.Rail{{Provider: iwarp.New(iwarp.Config{NoCRC: true, Packing: iwarp.PackNever}), Interface: "127.0.0.1"}}, NoCRC: true,
			Lookup: func(peer int) ([]rdma.Location, error) {
				at := address(peer)
				switch {
				case rank == rogue && peer == victim:
					at = n.in.address()
				case rank == victim && peer == rogue:
					at = n.out.address()
				}
				return []rdma.Location{{Fabric: rdma.FabricTCP, Address: at}}, nil
			},
			// The long timeouts do not delay the test: a rank notices a cut wire at once, because
			// the wire refuses connections.
			Attempt: patience / 2, Confirm: patience / 2, GiveUp: patience / 2, RetryMin: time.Millisecond, RetryMax: 10 * time.Millisecond,
			Goodbye: 10 * time.Millisecond, Linger: 10 * time.Millisecond, Absence: 10 * time.Millisecond,
		})
		require.NoError(tb, err)
		n.transports[rank] = t
	}
	n.in.start()
	n.out.start()
	return n
}

// Transport implements localjob.Network.
func (n *network) Transport(rank int) localjob.Transport { return n.transports[rank] }

// Sleeper implements localjob.Network.
func (n *network) Sleeper(rank int) transport.Sleeper { return &n.sleepers[rank] }

// Explain implements localjob.Network.
func (n *network) Explain(rank, peer int) string { return n.transports[rank].Explain(peer) }

// watch cuts the wires when no data have passed through them for the time quiet. If no FPDU has been changed
// yet, it cuts them only after the time quietTimes*quiet. Then it waits until the wires have ended.
func (n *network) watch(over <-chan struct{}) {
	last, still := int64(-1), 0
	ticker := time.NewTicker(quiet)
	defer ticker.Stop()
	for still == 0 || still < quietTimes && n.in.changed.Load()+n.out.changed.Load() == 0 {
		select {
		case <-over:
			still = quietTimes
		case <-ticker.C:
			if now := n.in.passed.Load() + n.out.passed.Load(); now != last {
				last, still = now, 0
			} else {
				still++
			}
		}
	}
	n.in.sever()
	n.out.sever()
	n.in.done.Wait()
	n.out.done.Wait()
}
