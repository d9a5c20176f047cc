package virtual

import (
	"fmt"
	"strings"
)

// Wait describes the message for which a rank waits.
type Wait struct {
	Rank, Peer int
	// Sends is true if Rank waits until Peer has received Rank's message of Bytes bytes. If Sends is
	// false, Rank waits until Peer sends a message of Bytes bytes.
	Sends bool
	Bytes int

	message *envelope // that Peer has to receive, if Sends is true
}

// String describes the wait in words.
func (w Wait) String() string {
	if w.Sends {
		return fmt.Sprintf("rank %d waits until rank %d receives %d bytes", w.Rank, w.Peer, w.Bytes)
	}
	return fmt.Sprintf("rank %d waits for %d bytes from rank %d", w.Rank, w.Bytes, w.Peer)
}

// DeadlockError is the error of a simulation in which ranks wait and no further event can wake them.
type DeadlockError struct {
	// Ranks is the number of ranks of the simulation. Waits has one entry for each rank that has not
	// ended, in rank order.
	Ranks int
	Waits []Wait
	// Ended is the number of ranks that have ended.
	Ended int
}

// linesMax is the largest number of waits in the text of an error.
const linesMax = 16

// Error returns a text with the first linesMax waits.
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

// LeftoverError is the error of a simulation whose ranks have all ended and left messages that were
// not received.
type LeftoverError struct {
	// Lanes is the number of lanes with messages that were not received. A lane is a pair of sender and
	// receiver. From, To and Bytes describe the first message of one of these lanes: the lane with the
	// lowest sender and, among the lanes of this sender, with the lowest receiver.
	Lanes, From, To, Bytes int
}

// Error describes the message of From, To and Bytes.
func (e *LeftoverError) Error() string {
	return fmt.Sprintf("all ranks have ended, and rank %d has not received %d bytes from rank %d (%d lanes hold messages)", e.To, e.Bytes, e.From, e.Lanes)
}

// unfinished returns the error of a simulation in which no event is left: a *DeadlockError or a
// *LeftoverError. It returns nil if all ranks have ended and all messages were received.
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
