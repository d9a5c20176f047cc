package transporttest

import (
	"fmt"
	"os"
	"sync"

	"github.com/gorun-hpc/gorun/transport"
)

const (
	// arenaToken is the Token of every arena. Exposures have larger Tokens.
	arenaToken = 1
	// pageSize is a multiple of the page size of every machine on which gorun runs.
	pageSize = 64 << 10
	// regionAddr is the distance between the addresses of two consecutive exposures. It is so large that an
	// address beyond the end of one exposure is not in the next exposure.
	regionAddr = 1 << 40
)

// region is an exposed slice.
type region struct {
	bytes  []byte
	base   uint64
	access transport.Access
}

// fakeArena is a rank's arena. Its memory is allocated at the first use.
type fakeArena struct {
	rank  int
	size  int
	once  sync.Once
	bytes []byte
}

var _ transport.Arena = (*fakeArena)(nil)

// Size implements transport.Arena.
func (a *fakeArena) Size() int { return a.size }

// Bytes implements transport.Arena.
func (a *fakeArena) Bytes(off, n int) ([]byte, error) {
	if off < 0 || n < 0 || off > a.size-n {
		return nil, fmt.Errorf("arena of rank %d has no bytes [%d, %d+%d): %w", a.rank, off, off, n, transport.ErrBadKey)
	}
	return a.memory()[off : off+n : off+n], nil
}

// Discard implements transport.Arena.
func (a *fakeArena) Discard(off, n int) error {
	if page := os.Getpagesize(); off%page != 0 || n%page != 0 {
		panic(fmt.Sprintf("transporttest: rank %d: Discard(%d, %d) is not in whole pages", a.rank, off, n))
	}
	b, err := a.Bytes(off, n)
	clear(b)
	return err
}

// Key implements transport.Arena.
func (a *fakeArena) Key(off int) transport.Key {
	return transport.Key{Addr: uint64(off), Token: arenaToken}
}

// Offset implements transport.Arena.
func (a *fakeArena) Offset(b []byte) (int, bool) { return within(a.memory(), b) }

// slice returns n bytes at a Key's address.
func (a *fakeArena) slice(addr uint64, n int) ([]byte, error) {
	if addr > uint64(a.size) || uint64(n) > uint64(a.size)-addr {
		return nil, transport.ErrBadKey
	}
	return a.memory()[addr : addr+uint64(n) : addr+uint64(n)], nil
}

// memory returns the whole range.
func (a *fakeArena) memory() []byte {
	a.once.Do(func() { a.bytes = alignedBytes(a.size) })
	return a.bytes
}

// Expose implements transport.Transport.
func (t *fakeTransport) Expose(b []byte, access transport.Access) (transport.Key, error) {
	defer t.guard.leave(t.guard.enter("Expose"))
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	if t.closed {
		return transport.Key{}, t.fail("expose", -1, transport.ErrClosed)
	}
	t.exposures++
	token := arenaToken + t.exposures
	t.exposed[token] = &region{bytes: b, base: token * regionAddr, access: access}
	return transport.Key{Addr: token * regionAddr, Token: token}, nil
}

// Conceal implements transport.Transport. If FakeOptions.AllowStale is true, later operations with the key, and
// operations that were not executed yet, complete with ErrBadKey. If AllowStale is false, a later operation panics
// (see checkStale), and Conceal panics if an operation of a living peer on the memory is in progress.
func (t *fakeTransport) Conceal(k transport.Key) error {
	defer t.guard.leave(t.guard.enter("Conceal"))
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	if t.closed {
		return t.fail("conceal", -1, transport.ErrClosed)
	}
	if t.exposed[k.Token] == nil {
		return t.fail("conceal", -1, transport.ErrBadKey)
	}
	for _, peer := range t.fabric.ranks {
		for _, op := range peer.operations {
			live := !op.done && !peer.closed && t.peers[peer.rank].alive() && peer.peers[t.rank].alive()
			if live && op.peer == t.rank && op.key.Token == k.Token && !t.fabric.options.AllowStale {
				panic(fmt.Sprintf("transporttest: rank %d conceals memory while a %s of rank %d is under way", t.rank, op.name, peer.rank))
			}
		}
	}
	delete(t.exposed, k.Token)
	return nil
}

// slice returns n bytes of this rank's memory at k, or ErrBadKey if k does not permit
// this access to all of them. The fabric's lock is held.
func (t *fakeTransport) slice(k transport.Key, n int, access transport.Access) ([]byte, error) {
	if k.Token == arenaToken {
		return t.arena.slice(k.Addr, n)
	}
	r := t.exposed[k.Token]
	if r == nil || r.access&access == 0 || k.Addr < r.base {
		return nil, transport.ErrBadKey
	}
	off, size := k.Addr-r.base, uint64(len(r.bytes))
	if off > size || uint64(n) > size-off {
		return nil, transport.ErrBadKey
	}
	return r.bytes[off : off+uint64(n) : off+uint64(n)], nil
}
