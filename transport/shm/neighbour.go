package shm

import (
	"fmt"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// Ring ends every Sleep of a rank of this node, like the Ring of that rank's own Sleeper. It is for
// a caller that has changed a word in shared memory: the goroutines of that rank may wait for the
// change, and no message announces the change. Ring may be called from any goroutine. It does
// nothing for a rank of another node.
func (t *Transport) Ring(peer int) {
	switch s := t.slot(peer); {
	case s == t.cfg.LocalRank:
		t.bell.Ring() // the bell of a rank that is alone is not in node memory, see aloneSleeper
	case s >= 0:
		t.node.bell(s).Ring()
	}
}

// Barred reports whether the processors of this process execute a memory barrier whenever the given
// rank of this node arms. If Barred returns true, this rank needs no fence between a store for the
// peer and the load by which this rank checks whether the peer may sleep. Barred may be called from
// any goroutine. After it has returned true, it returns true until the peer closes.
func (t *Transport) Barred(peer int) bool {
	s := t.slot(peer)
	return s >= 0 && t.settled.Load() && atomic.LoadUint64(t.node.control(s).word(offState)) == stateRunning
}

// Shared returns n bytes of the arena of a rank of this node, which may be this rank. It is like
// Endpoint.Map, but for memory that is used in place for a long time. Shared may be called from any
// goroutine, and the memory stays valid after the loss of the peer. The error is ErrNotSupported if
// the rank is on another node, or if the key is not a key of an arena. Any other error is
// ErrBadKey.
func (t *Transport) Shared(peer int, k transport.Key, n int) ([]byte, error) {
	s := t.slot(peer)
	if s < 0 || k.Token != tokenArena {
		return nil, t.failure("map", peer, transport.ErrNotSupported)
	}
	b, err := t.node.arenaBytes(s, k.Addr, n, createNone)
	if err != nil {
		return nil, t.failure("map", peer, fmt.Errorf("%w: %d bytes at %d", transport.ErrBadKey, n, k.Addr))
	}
	return b, nil
}
