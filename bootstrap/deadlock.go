package bootstrap

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

// Deadlocked returns the ranks of a world that can never go on, in ascending order: each is
// stuck, no message to it is under way, and every rank that could end one of its waits, or wake one of its actors, is
// another of them, has left its program and is stuck, too, or has nothing but idle actors. list has the reports of the ranks;
// left says whether a rank without a report has left the job in order. A rank of which neither is
// known may do anything.
//
// It is the largest such set: those that wait for a rank that may go on may go on, too, until
// nothing changes (E. Knapp, "Deadlock detection in distributed databases", ACM Computing Surveys 19
// (1987), the OR model).
func Deadlocked(list []Doing, size int, left func(rank int) bool) []int {
	reports := byRank(list, size)
	dead := make([]bool, size) // stuck, or left
	for rank := range dead {
		if d := reports[rank]; d != nil {
			dead[rank] = d.Stuck != 0
		} else {
			dead[rank] = left(rank)
		}
	}
	for _, rank := range awaiting(reports) {
		dead[rank] = false
	}
	w := waitersOf(reports, dead)
	var free []int // may go on, and those that wait for them are not dead
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
		if is && reports[rank] != nil && len(reports[rank].Waits) > 0 && !reports[rank].Finished {
			stuck = append(stuck, rank)
		}
	}
	return stuck
}

// byRank returns the reports by their ranks, nil where there is none. Those of other ranks are
// left out.
func byRank(list []Doing, size int) []*Doing {
	reports := make([]*Doing, size)
	for i := range list {
		if rank := list[i].Rank; rank >= 0 && rank < size {
			reports[rank] = &list[i]
		}
	}
	return reports
}

// awaiting are the ranks to which frames of others are under way.
func awaiting(reports []*Doing) []int {
	sent := make([][]Lane, len(reports)) // by receiver, with the sender as Peer
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
	received := make([]uint16, len(reports)) // by sender
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

// waiters are the ranks that wait, by the text of Wait.Among. Each text is read once, however
// many ranks have it.
type waiters struct {
	ranks map[string][]int
	one   map[int][]string // texts that name a rank alone
	wide  []textRange      // of several ranks
}

// textRange is a range in a text.
type textRange struct {
	ranges.Range
	text string
}

// waitersOf returns the waits of the ranks that are dead so far. A rank is not dead, and that is
// noted, if it waits for nothing or for ranks that are not known.
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

// depends returns what must be dead so that the rank is: the ranks of each wait, and those that its actors serve.
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

// add reads a text. It returns false if it names no ranks.
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

// take returns the ranks that wait for a rank, but those that it has returned before.
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

// rankRanges are the ranks of a world of size ranks that FormatRanks wrote as text, without their
// list; none for "".
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
