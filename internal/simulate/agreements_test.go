package simulate_test

import (
	"os"
	"testing"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/internal/simulate/program"
)

// TestDeathAtEveryEventOfAnAgreement kills a rank at each event of a job that agrees, revokes and
// shrinks. Each rank is the victim of some jobs. Messages of the victim may be lost. With GORUN_SOAK, there are
// also jobs in which no message is lost.
func TestDeathAtEveryEventOfAnAgreement(t *testing.T) {
	seeds, losses := int64(1), []bool{true}
	switch {
	case os.Getenv("GORUN_SOAK") != "":
		seeds, losses = 40, []bool{false, true}
	case raceDetector:
		t.Skip("the race detector takes five times as long")
	}
	const ranks = 3
	runs := 0
	for seed := int64(1); seed <= seeds; seed++ {
		for victim := range ranks {
			for _, lossy := range losses {
				for event, last := 0, 1; event < last; event++ {
					p := program.Shrink()
					p.Adapt = func(c *simulate.Conditions) {
						c.Launcher = true
						c.Deaths[0].Rank, c.Deaths[0].Event, c.Deaths[0].Lossy = victim, event, lossy
					}
					last = max(last, run(t, p, seed, ranks).Events)
					runs++
				}
			}
		}
	}
	t.Logf("%d deaths", runs)
}
