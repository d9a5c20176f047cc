package simulate_test

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/internal/simulate/program"
)

var (
	seedFlag  = flag.Int64("seed", 0, "run this `seed` alone")
	ranksFlag = flag.Int("ranks", 0, "`number` of ranks (default: the seed chooses)")
	eventFlag = flag.Int("event", 0, "with -seed: the first rank of TestDeathAtEveryEventOfARestart dies at this `event` alone")
	traceFlag = flag.Bool("trace", false, "with -seed: print each event")
	freshFlag = flag.Duration("fresh", 0, "run fresh seeds of all programs for this `time`")
)

// Without -seed and -fresh, TestPrograms runs each program under the seeds from 1 to seedsFull, or to
// seedsShort with -short.
const (
	seedsShort = 10
	seedsFull  = 40
)

func TestMain(m *testing.M) {
	// On one processor, the goroutines of a rank take turns in the same order in most runs of a seed.
	goruntime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// run runs a program under a seed, and fails with the report if the run found a defect.
func run(t *testing.T, p simulate.Program, seed int64, ranks int) simulate.Result {
	t.Helper()
	r := simulate.Run(t, p, seed, ranks)
	if r.Err != nil {
		t.Fatal(r.String())
	}
	return r
}

// TestPrograms runs each program under the first seeds, under the seed of -seed, or under fresh
// seeds for the time of -fresh.
func TestPrograms(t *testing.T) {
	programs := program.All()
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) {
			switch {
			case *seedFlag != 0:
				if *traceFlag {
					p.Trace = os.Stdout
				}
				r := run(t, p, *seedFlag, *ranksFlag)
				t.Logf("%d ranks, %d events in %v, sum %016x\n%v", r.Ranks, r.Events, r.Virtual, r.Sum, r.Conditions)
			case *freshFlag > 0:
				runFresh(t, p, *freshFlag/time.Duration(len(programs)))
			default:
				seeds := int64(seedsFull)
				if testing.Short() {
					seeds = seedsShort
				}
				for seed := int64(1); seed <= seeds; seed++ {
					run(t, p, seed, *ranksFlag)
				}
			}
		})
	}
}

// runFresh runs a program under new seeds for some time.
func runFresh(t *testing.T, p simulate.Program, span time.Duration) {
	t.Helper()
	n, events := 0, 0
	for began := time.Now(); time.Since(began) < span; n++ {
		events += run(t, p, rand.Int64N(1<<40)+1, *ranksFlag).Events
	}
	t.Logf("%d seeds, %d events", n, events)
}

// TestRegressions runs the seeds that have found a defect before.
func TestRegressions(t *testing.T) {
	file, err := os.Open("testdata/seeds.txt")
	require.NoError(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var name string
		var seed int64
		var ranks int
		_, err := fmt.Sscan(line, &name, &seed, &ranks)
		require.NoError(t, err, line)
		programs := program.All()
		i := slices.IndexFunc(programs, func(p simulate.Program) bool { return p.Name == name })
		require.GreaterOrEqual(t, i, 0, line)
		t.Run(fmt.Sprintf("%s_%d_%d", name, seed, ranks), func(t *testing.T) { run(t, programs[i], seed, ranks) })
	}
}
