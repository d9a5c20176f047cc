package phases_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	ranks = 3
	// atATime is how many programs run at the same time. The programs mostly wait.
	atATime = 6
)

// soak reports whether long tests may run.
func soak() bool { return os.Getenv("GORUN_SOAK") == "1" }

// seeds returns how many programs run: the number in GORUN_PHASES, or 300 with GORUN_SOAK=1, or else the
// argument few.
func seeds(t *testing.T, few int) int {
	t.Helper()
	if text := os.Getenv("GORUN_PHASES"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	if soak() {
		return 300
	}
	return few
}

// first returns the first seed: 1 or the number in GORUN_PHASES_FIRST.
func first(t *testing.T) int {
	t.Helper()
	text := os.Getenv("GORUN_PHASES_FIRST")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// outcome is a program and how it ended.
type outcome struct {
	launch.Result
	seed  int
	end   string
	flags []string
}

// String describes the program and its errors for a failure of the test.
func (o outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d (GORUN_PHASES=1 GORUN_PHASES_FIRST=%[1]d), %v, then %q:\n", o.seed, o.flags, o.end)
	for i, p := range plan(uint64(o.seed), ranks) {
		fmt.Fprintf(&b, "  phase %d, %v\n", i, p)
	}
	return b.String() + o.Errors
}

// onThisMachine returns the flags for a seed: every third program uses the network.
func onThisMachine(seed int) []string {
	if seed%3 == 0 {
		return []string{"-transport", "rdma"}
	}
	return []string{"-transport", "shm"}
}

// runAll runs programs with their flags. At most atATime programs run at the same time.
func runAll(t *testing.T, list []outcome) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	gorun := launch.Gorun(t)
	free := make(chan bool, atATime)
	var running sync.WaitGroup
	for i := range list {
		o := &list[i]
		free <- true
		running.Go(func() {
			command := []string{gorun, "-np", strconv.Itoa(ranks), "-x", envSeed + "=" + strconv.Itoa(o.seed), "-x", envEnd + "=" + o.end}
			o.Result = launch.Run(t, nil, append(append(command, o.flags...), self)...)
			<-free
		})
	}
	running.Wait()
}

// aStall matches the start of a report that nothing has moved.
var aStall = regexp.MustCompile(`(?m)^gorun: nothing has moved for 1s: `)

// noAlarm fails the test if a program failed, printed anything unexpected, or reported a stall of 1 s
// although there was none.
func noAlarm(t *testing.T, o outcome) {
	t.Helper()
	require.Zero(t, o.Code, o)
	if !slices.Contains(o.flags, "-stall") {
		require.Empty(t, o.Errors, o)
		return
	}
	require.NotContains(t, o.Errors, "deadlock", o)
	stalls := len(aStall.FindAllString(o.Errors, -1))
	require.LessOrEqual(t, stalls, 1, o) // one pause of a program is longer than 1 s
	require.Equal(t, stalls == 0, o.Errors == "", o)
}

// proven requires that a program was ended because of its deadlock, with exactly one report.
func proven(t *testing.T, o outcome) {
	t.Helper()
	require.Equal(t, 86, o.Code, o)
	require.Equal(t, 1, strings.Count(o.Errors, "gorun: deadlock: "), o)
	require.Contains(t, o.Errors, "what the ranks are doing:", o)
}

// TestNoFalseAlarms checks that no deadlock is reported for programs with late ranks, and that at most one
// stall of 1 s is reported for each program, because only one of its pauses is longer than 1 s.
func TestNoFalseAlarms(t *testing.T) {
	list := make([]outcome, seeds(t, 6))
	for i := range list {
		seed := first(t) + i
		list[i] = outcome{seed: seed, flags: onThisMachine(seed)}
		if seed%2 == 0 {
			list[i].flags = append(list[i].flags, "-stall", "1s")
		}
	}
	runAll(t, list)
	for _, o := range list {
		noAlarm(t, o)
	}
}

// TestEveryDeadlockIsProven checks that a deadlock after phases with late ranks is reported
// exactly once.
func TestEveryDeadlockIsProven(t *testing.T) {
	list := make([]outcome, seeds(t, 8))
	for i := range list {
		seed := first(t) + i
		list[i] = outcome{seed: seed, flags: onThisMachine(seed), end: deadlocks[len(deadlocks)-1-seed%len(deadlocks)].name}
	}
	runAll(t, list)
	for _, o := range list {
		proven(t, o)
	}
}

// TestAlarmsOnHosts checks that there are no false alarms on several hosts, and that deadlocks of
// actors are reported.
func TestAlarmsOnHosts(t *testing.T) {
	c := nscluster.Start(t, ranks)
	there := []string{"-host", "h0:1,h1:1,h2:1", "-rsh", c.Rsh()}
	var list []outcome
	for i := range seeds(t, 3) {
		list = append(list, outcome{seed: first(t) + i, flags: there})
	}
	for _, d := range deadlocks {
		if d.actors || soak() {
			list = append(list, outcome{seed: first(t) + len(list), flags: there, end: d.name})
		}
	}
	runAll(t, list)
	for _, o := range list {
		if o.end == "" {
			noAlarm(t, o)
		} else {
			proven(t, o)
		}
	}
}

// TestPhasesInOneProcess checks that the programs also end in one process, where no launcher
// looks for deadlocks.
func TestPhasesInOneProcess(t *testing.T) {
	t.Parallel()
	for i := range seeds(t, 2) {
		seed := strconv.Itoa(first(t) + i)
		require.NoError(t, runtime.Local(ranks, func(w *runtime.World) error { return program(w, seed, "") }), seed)
	}
}
