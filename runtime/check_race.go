package runtime

import (
	"fmt"
	"os"
	"slices"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// race prints a note if messages of several ranks could match a receive from AnySource. Which of these
// messages the receive gets depends on timing. race prints a note and records no finding, because a
// program may intend such a receive. race detects only messages that have arrived and are unmatched when
// the receive begins.
func (k *check) race(c *Comm, from engine.Match) {
	if k == nil || from.Peer != AnySource || c.id%contextStride != contextUser {
		return
	}
	at := here()
	if at == "" {
		return
	}
	var ranks []int
	for _, u := range c.engine.Unreceived() {
		if u.Context == from.Context && (from.Tag == AnyTag || u.Tag == from.Tag) {
			ranks = append(ranks, c.rankOf(u.Source))
		}
	}
	slices.Sort(ranks)
	if ranks = slices.Compact(ranks); len(ranks) < 2 {
		return
	}
	what := fmt.Sprintf("the receive from any rank%s could have matched a message of each of the ranks %s of %s", at, bootstrap.FormatRanks(ranks), c.Name())
	k.mu.Lock()
	k.found[what]++
	first := k.found[what] == 1
	k.mu.Unlock()
	if first { // printed at once, because the race may make the program fail
		fmt.Fprintf(os.Stderr, "rank %d: check: note: %s\n", c.World().Rank(), what)
	}
}
