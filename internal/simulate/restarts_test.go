package simulate_test

import (
	"os"
	"testing"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/internal/simulate/program"
)

// TestDeathAtEveryEventOfARestart: ranks die from each event of a job on that starts them again, one alone,
// two at once, and one more a few events later, while the others go on in the next generation.
func TestDeathAtEveryEventOfARestart(t *testing.T) {
	seeds, stride := int64(2), 7
	switch {
	case os.Getenv("GORUN_SOAK") != "":
		seeds, stride = 1000, 1
	case raceDetector:
		t.Skip("the race detector takes five times as long")
	}
	runs := 0
	for seed := int64(1); seed <= seeds; seed++ {
		for event, last := int(seed)%stride, stride+1; event < last; event += stride {
			p := program.Resume()
			adapt := p.Adapt
			p.Adapt = func(c *simulate.Conditions) {
				adapt(c)
				if len(c.Deaths) == 0 {
					return // a rank alone
				}
				d := c.Deaths[0]
				d.Event = event
				c.Deaths = []simulate.Death{d}
				if event%3 > 0 {
					d.Rank = event % (d.Rank + 1)
					d.Event += event % 3 * 10
					c.Deaths = append(c.Deaths, d, d)
				}
			}
			last = max(last, run(t, p, seed, 0).Events)
			runs++
		}
	}
	t.Logf("%d jobs", runs)
}
