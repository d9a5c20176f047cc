package runtime

import (
	"context"
	"fmt"
)

// Explain describes the way to a peer in one line: the lane, the path of large
// messages, and why better ones were not chosen.
func (w *World) Explain(peer int) string {
	switch {
	case peer < 0 || peer >= w.Size():
		return fmt.Sprintf("rank %d: not in a world of %d", peer, w.Size())
	case peer == w.Rank():
		return fmt.Sprintf("rank %d: this rank itself, one copy", peer)
	}
	// The transport may be asked under the engine's lock only, which Await holds
	// when it calls its function.
	var line string
	_ = w.engine.Await(context.Background(), func() bool { line = w.shm.Explain(peer); return true }, 0, "explain")
	return line
}
