package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/internal/simulate/program"
)

// TestDeathAtEveryEventOfARestart kills a rank at every 23rd event of a job that restarts lost ranks. With
// GORUN_SOAK, it does so at every 53rd event under many seeds, which begin at different events. Up to three
// more deaths follow, of the same or of other ranks, each at most 149 events after the previous death. So the
// other ranks may be about to enter the next generation, or may have entered it.
func TestDeathAtEveryEventOfARestart(t *testing.T) {
	seeds, stride := int64(2), 23 // each seed starts at another event
	switch {
	case os.Getenv("GORUN_SOAK") != "":
		seeds, stride = 1000, 53
	case raceDetector:
		t.Skip("the race detector takes five times as long")
	}
	if *seedFlag != 0 {
		run(t, dying(*seedFlag, *eventFlag), *seedFlag, *ranksFlag)
		return
	}
	runs := 0
	for seed := int64(1); seed <= seeds; seed++ {
		for event, last := int(seed)%stride, stride+1; event < last; event += stride {
			last = max(last, run(t, dying(seed, event), seed, 0).Events)
			runs++
		}
	}
	t.Logf("%d jobs", runs)
}

// dying returns the program Resume with conditions in which the first death happens at the given event.
func dying(seed int64, event int) simulate.Program {
	p := program.Resume()
	p.Repeat = fmt.Sprintf("go test ./internal/simulate -run TestDeathAtEveryEventOfARestart -seed %d -event %d", seed, event)
	adapt := p.Adapt
	p.Adapt = func(c *simulate.Conditions) {
		adapt(c)
		if len(c.Deaths) == 0 {
			return // a single rank
		}
		d := c.Deaths[0]
		d.Event = event
		c.Deaths = []simulate.Death{d}
		draw := rand.New(rand.NewPCG(uint64(seed), uint64(event)))
		for range draw.IntN(4) {
			d.Rank = (d.Rank + draw.IntN(5)) % 5
			d.Event += draw.IntN(simulate.Pick(draw, 1, 20, 150))
			c.Deaths = append(c.Deaths, d)
		}
	}
	return p
}
