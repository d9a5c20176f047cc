//go:build linux && !gorun_shm && !portable

package runtime

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// met is called when the cards of all ranks have arrived. If the environment leaves the choice to
// gorun (auto), met enables encryption if any rank of the job listens for TCP at an address that is not
// private. All ranks have the same cards, so all of them decide alike.
func (f *rdmaFabric) met(w *World, book *bootstrap.Book) error {
	if w.settings.encrypt != bootstrap.EncryptAuto {
		return nil
	}
	card, address, ok := public(book)
	if !ok {
		return nil
	}
	if w.Rank() == 0 {
		fmt.Fprintf(os.Stderr, "rank 0: connections over TCP are encrypted, because the address %v of rank %d on %s is public; gorun -encrypt=no leaves them unencrypted\n",
			address, card.Rank, card.Host)
	}
	return f.Encrypt()
}

// public returns the first card with an address that is not private, and this address.
func public(book *bootstrap.Book) (bootstrap.Card, netip.Addr, bool) {
	for rank := range book.Size() {
		card, _ := book.Card(rank)
		for _, a := range card.Addresses {
			if ip := netip.AddrFrom16(a.IP).Unmap(); !private(ip) {
				return card, ip, true
			}
		}
	}
	return bootstrap.Card{}, netip.Addr{}, false
}

// private reports whether an address belongs to a private network (RFC 1918, RFC 4193), or is a
// loopback or link-local address.
func private(a netip.Addr) bool { return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() }
