package virtual

import (
	"fmt"
	"strings"
)

// Wait is what a rank waits for.
type Wait struct {
	Rank, Peer int
	// Sends: it waits until Peer has received Bytes bytes, else until Peer sends as many.
	Sends bool
	Bytes int

	message *envelope
}

// String says the wait in words.
func (w Wait) String() string {
	if w.Sends {
		return fmt.Sprintf("rank %d waits until rank %d receives %d bytes", w.Rank, w.Peer, w.Bytes)
	}
	return fmt.Sprintf("rank %d waits for %d bytes from rank %d", w.Rank, w.Bytes, w.Peer)
}

// DeadlockError is the error of ranks that wait for messages while none is under way.
type DeadlockError struct {
	// Ranks is how many there are in all, Waits what each one that has not ended waits for, in the
	// order of the ranks.
	Ranks int
	Waits []Wait
	// Ended is how many have ended.
	Ended int
}

// linesMax bounds how many waits an error spells out.
const linesMax = 16

// Error names the first waits.
func (e *DeadlockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock: %d of %d ranks wait, %d have ended", len(e.Waits), e.Ranks, e.Ended)
	for _, w := range e.Waits[:min(len(e.Waits), linesMax)] {
		fmt.Fprintf(&b, "; %v", w)
	}
	if more := len(e.Waits) - linesMax; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// LeftoverError is the error of a message that was not received when all ranks had ended.
type LeftoverError struct {
	// Lanes is how many pairs of ranks have such messages. From, To and Bytes are the first
	// message of the pair with the lowest ranks.
	Lanes, From, To, Bytes int
}

// Error says who has not received what.
func (e *LeftoverError) Error() string {
	return fmt.Sprintf("all ranks have ended, and rank %d has not received %d bytes from rank %d (%d lanes hold messages)", e.To, e.Bytes, e.From, e.Lanes)
}

// unfinished returns the error of a simulation in which nothing happens any more, nil if it has
// come to its end.
func (n *network) unfinished() error {
	if n.running > 0 {
		e := &DeadlockError{Ranks: len(n.ranks), Ended: len(n.ranks) - n.running}
		for i := range n.ranks {
			if r := &n.ranks[i]; !r.done {
				w := r.waits
				w.message = nil
				e.Waits = append(e.Waits, w)
			}
		}
		return e
	}
	left := &LeftoverError{}
	least := ^uint64(0)
	for key, l := range n.lanes {
		if l.first == nil {
			continue
		}
		left.Lanes++
		if key < least {
			least = key
			left.From, left.To, left.Bytes = l.first.from, l.first.to, l.first.bytes
		}
	}
	if left.Lanes > 0 {
		return left
	}
	return nil
}
