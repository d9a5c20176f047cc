package runtime

import (
	"context"
	"sync"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// leftovers belongs to a communicator. It holds the streams that this rank has left before it received the last
// frame or the last credit. Each element of the field from matches the remaining frames or credits of one stream. No
// Stream and no SendStream receives these messages. They take memory, and the memory for messages that no receive has
// matched is limited. So each new stream of the communicator discards the messages that have arrived.
type leftovers struct {
	mu   sync.Mutex // guards from; no other lock is taken while mu is held
	from []engine.Match
}

// add adds a stream.
func (l *leftovers) add(from engine.Match) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from = append(l.from, from)
}

// discard discards the messages that have arrived, and removes the streams of which no message can follow.
func (l *leftovers) discard(e *engine.Engine) {
	l.mu.Lock()
	list := l.from
	l.from = nil
	l.mu.Unlock()
	for _, from := range list {
		if !discardFrom(e, from) {
			l.add(from)
		}
	}
}

// discardFrom discards the messages of one stream that have arrived. It reports whether no message can follow: the
// last frame or credit has arrived, the peer is lost, or the communicator was closed or broken.
func discardFrom(e *engine.Engine, from engine.Match) bool {
	for {
		m, arrived, err := e.Improbe(from)
		if err != nil || !arrived {
			return err != nil
		}
		var kind [1]byte
		_, _ = m.Recv(context.Background(), valueElement.typ, kind[:]) // TruncatedError, because the message is longer
		if kind[0] != frameValue {
			return true
		}
	}
}
