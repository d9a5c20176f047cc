package shm

import (
	"fmt"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// Ring ends every Sleep of a rank of this node, as that rank's own Sleeper does:
// its goroutines may wait for a word in shared memory, of which no message tells.
// It may be called from any goroutine. Ranks elsewhere are ignored.
func (t *Transport) Ring(peer int) {
	if s := t.slot(peer); s >= 0 {
		t.node.bell(s).Ring()
	}
}

// Barred reports whether the processors of this process pass a barrier whenever another rank of
// this node arms: what this rank stores before it looks whether that one may sleep needs no
// fence then. It may be called from any goroutine; once true it stays so.
func (t *Transport) Barred(peer int) bool {
	s := t.slot(peer)
	return s >= 0 && t.settled.Load() && atomic.LoadUint64(t.node.control(s).word(offState)) == stateRunning
}

// Shared returns n bytes of the arena of a rank of this node, this rank
// included. It is Endpoint.Map for memory that is used in place for a long time: it may be
// called from any goroutine, and the memory outlives the loss of the peer. The error is
// ErrNotSupported for a rank elsewhere, else ErrBadKey.
func (t *Transport) Shared(peer int, k transport.Key, n int) ([]byte, error) {
	s := t.slot(peer)
	if s < 0 || k.Token != tokenArena {
		return nil, t.failure("map", peer, transport.ErrNotSupported)
	}
	b, err := t.node.arenaBytes(s, k.Addr, n, false)
	if err != nil {
		return nil, t.failure("map", peer, fmt.Errorf("%w: %d bytes at %d", transport.ErrBadKey, n, k.Addr))
	}
	return b, nil
}
