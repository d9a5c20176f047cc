package iwarp

import (
	"fmt"
	"net/netip"
	"sync/atomic"
)

// stranger counts a connection that is dropped because it is none of a peer, and
// writes about the first of a provider: a port scan must not fill a log.
func (d *device) stranger(counter *atomic.Uint64, from netip.AddrPort, why string) {
	counter.Add(1)
	d.provider.strange.Do(func() {
		d.provider.log.Log(fmt.Sprintf("iwarp: a connection from %v was dropped: %s; more of that kind are counted in silence", from, why))
	})
}
