package bootstrap

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

// Deadlocked returns the ranks of a world that wait and can never continue, in ascending order. list has the
// reports of the ranks. Deadlocked assumes that a rank without a report can continue.
//
// A rank is dead if three conditions hold:
//   - The rank is stuck (Doing.Stuck).
//   - No message to the rank is in flight.
//   - Every rank that could end a wait of the rank, or send a message to its actors, is dead.
//
// The result has the dead ranks that wait and have not left their program. The other dead ranks have finished,
// or have only idle actors. The set of dead ranks is the largest set that meets this definition. At first, the
// set has all stuck ranks to which no message is in flight. Each rank of the set that waits for a rank outside
// the set is then removed, until no such rank is left (E. Knapp, "Deadlock detection in distributed databases",
// ACM Computing Surveys 19 (1987), the OR model).
func Deadlocked(list []Doing, size int) []int {
	reports := byRank(list, size)
	dead := make([]bool, size) // initially true for a rank that is stuck
	for rank, d := range reports {
		dead[rank] = d != nil && d.Stuck != 0
	}
	for _, rank := range awaiting(reports) {
		dead[rank] = false
	}
	w := waitersOf(reports, dead)
	var free []int // ranks that may continue, whose waiters have not been freed yet
	for rank, is := range dead {
		if !is {
			free = append(free, rank)
		}
	}
	for len(free) > 0 {
		rank := free[len(free)-1]
		free = free[:len(free)-1]
		for _, waiter := range w.take(rank) {
			if dead[waiter] {
				dead[waiter] = false
				free = append(free, waiter)
			}
		}
	}
	var stuck []int
	for rank, is := range dead {
		if is && len(reports[rank].Waits) > 0 && !reports[rank].Finished {
			stuck = append(stuck, rank)
		}
	}
	return stuck
}

// byRank returns the reports indexed by rank, nil for a rank without a report. It ignores reports of
// ranks that are not in the world.
func byRank(list []Doing, size int) []*Doing {
	reports := make([]*Doing, size)
	for i := range list {
		if rank := list[i].Rank; rank >= 0 && rank < size {
			reports[rank] = &list[i]
		}
	}
	return reports
}

// awaiting returns the ranks to which frames are in flight. A frame is in flight if the number of frames that
// a peer has sent differs from the number that the rank has received from that peer.
func awaiting(reports []*Doing) []int {
	sent := make([][]Lane, len(reports)) // by receiver; Peer is the sender
	for from, d := range reports {
		if d == nil {
			continue
		}
		for _, l := range d.Lanes {
			if l.Peer >= 0 && l.Peer < len(reports) && reports[l.Peer] != nil {
				sent[l.Peer] = append(sent[l.Peer], Lane{Peer: from, Sent: l.Sent})
			}
		}
	}
	var ranks []int
	received := make([]uint16, len(reports)) // by sender, for one receiver
	for rank, lanes := range sent {
		if len(lanes) == 0 {
			continue
		}
		clear(received)
		for _, l := range reports[rank].Lanes {
			if l.Peer >= 0 && l.Peer < len(reports) {
				received[l.Peer] = l.Received
			}
		}
		if slices.ContainsFunc(lanes, func(l Lane) bool { return received[l.Peer] != l.Sent }) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// waiters finds the ranks that wait for a rank. It indexes the waiting ranks by a text of ranks, which is a
// Wait.Among or a Doing.Serves. Each text is parsed once, even if many ranks have the same text.
type waiters struct {
	ranks map[string][]int // by text: the ranks that wait for the ranks in the text
	one   map[int][]string // by rank: the texts with a range that consists of this rank alone
	wide  []textRange      // the ranges of more than one rank
}

// textRange is one of the ranges of ranks in a text.
type textRange struct {
	ranges.Range
	text string
}

// waitersOf returns the waiters among the ranks whose element of dead is true. It sets the element of a rank
// to false if the rank waits for unknown ranks. It also does so if the rank does not wait, has not finished
// and has no actors.
func waitersOf(reports []*Doing, dead []bool) *waiters {
	w := &waiters{ranks: map[string][]int{}, one: map[int][]string{}}
	bad := map[string]bool{"": true}
	for rank, d := range reports {
		if d == nil || !dead[rank] {
			continue
		}
		dead[rank] = len(d.Waits) > 0 || d.Finished || d.Serves != ""
		for _, text := range d.depends() {
			if w.ranks[text] == nil && !bad[text] {
				bad[text] = !w.add(text, len(reports))
			}
			if bad[text] {
				dead[rank] = false
				break
			}
			w.ranks[text] = append(w.ranks[text], rank)
		}
	}
	return w
}

// depends returns, as texts, the ranks that must all be dead if this rank is dead. These are the ranks that
// can end its waits (one text for each wait), and the ranks whose messages its actors handle.
func (d *Doing) depends() []string {
	texts := make([]string, 0, len(d.Waits)+1)
	for _, wait := range d.Waits {
		texts = append(texts, wait.Among)
	}
	if d.Serves != "" {
		texts = append(texts, d.Serves)
	}
	return texts
}

// add parses a text and adds its ranges. It returns false if the text is malformed or names no ranks.
func (w *waiters) add(text string, size int) bool {
	list, err := rankRanges(text, size)
	if err != nil {
		return false
	}
	for _, r := range list {
		if r.Low == r.High {
			w.one[r.Low] = append(w.one[r.Low], text)
		} else {
			w.wide = append(w.wide, textRange{r, text})
		}
	}
	return len(list) > 0
}

// take returns the ranks that wait for a rank. It removes the texts that name the rank, so that later calls
// do not return waiters for these texts again.
func (w *waiters) take(rank int) []int {
	var found []int
	for _, text := range w.one[rank] {
		found = append(found, w.ranks[text]...)
		delete(w.ranks, text)
	}
	w.wide = slices.DeleteFunc(w.wide, func(r textRange) bool {
		if rank < r.Low || rank > r.High {
			return false
		}
		found = append(found, w.ranks[r.text]...)
		delete(w.ranks, r.text)
		return true
	})
	return found
}

// rankRanges parses a text of FormatRanks in a world of size ranks. It returns the ranges of the text without
// expanding them to a list of ranks. It returns no ranges for "".
func rankRanges(text string, size int) ([]ranges.Range, error) {
	if text == "" {
		return nil, nil
	}
	list, err := ranges.Split(text, ranges.Limits{Below: size, Count: size, Ascending: true})
	if err != nil {
		return nil, fmt.Errorf("bootstrap: ranks %q of %d: %w: %w", text, size, ErrMalformed, err)
	}
	return list, nil
}
