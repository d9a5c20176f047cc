package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// envProgram names the program that a process started by a test runs instead of
// the tests.
const envProgram = "GORUN_TEST_PROGRAM"

// programs are the programs of such processes.
var programs = map[string]func(){
	"greet":   func() { runtime.Main(greet) },
	"fail":    func() { runtime.Main(fail) },
	"break":   func() { runtime.Main(breakAsRankTwo) },
	"panic":   func() { runtime.Main(panicAsRankOne) },
	"outlive": func() { runtime.Main(panicOrGoOn) },
	"leave":   func() { runtime.Main(leaveWithoutAWord) },
	"abort":   func() { runtime.Main(abortAsRankOne) },
	"deliver": func() { runtime.Main(deliverAndLeave) },
	"sizes":   func() { runtime.Main(allSizes) },
	"wait":    func() { runtime.Main(waitForTheNext) },
	"hang":    func() { runtime.Main(hang) },
	"init":    initTwice,
	"all":     func() { runtime.Main(hearFromAll) },
	"circle":  func() { runtime.Main(passOn) },
	"crowd":   func() { runtime.Main(greetAll) },
	"nodes":   func() { runtime.Main(talkOnNodes) },
	"fewer":   dieOnNodes,
	"cross":   func() { runtime.Main(crossNodes) },
	"remark":  func() { runtime.Main(remark) },
	"intrude": func() { runtime.Main(intrude) },
	"named":   func() { runtime.Main(dieWhenNamed) },
	"record":  func() { runtime.Main(dieOnRecord) },
	"halt":    func() { runtime.Main(stopOnRecord) },
	"rally":   func() { runtime.Main(rallyUntilTold) },
}

// result is how a program ended.
type result struct {
	code        int
	out, errors string
}

// launch runs a program as n ranks.
func launch(t *testing.T, n int, program string, options ...string) result {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return launchFile(t, n, self, append(options, "-x", envProgram+"="+program)...)
}

// launchFile runs an executable as n ranks.
func launchFile(t *testing.T, n int, file string, options ...string) result {
	t.Helper()
	command := append([]string{testbed.Gorun(t), "-np", strconv.Itoa(n)}, options...)
	return finish(t, nil, append(command, file)...)
}

// finish runs a command with additional environment to its end.
func finish(t *testing.T, env []string, command ...string) result {
	t.Helper()
	r := testbed.Run(t, env, command...)
	return result{r.Code, r.Out, r.Errors}
}

// Processes that another launcher started report once that each is a world of its own.
func TestForeignLauncherIsNamed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for rank, want := range []string{"mpiexec started 2 processes of this program, which do not join each other", ""} {
		r := finish(t, []string{envProgram + "=greet", "PMI_SIZE=2", "PMI_RANK=" + strconv.Itoa(rank)}, self)
		require.Zero(t, r.code, r.errors)
		require.Contains(t, r.errors, want)
		require.Equal(t, want == "", r.errors == "", r.errors)
	}
	r := launch(t, 2, "greet", "-x", "PMI_SIZE=2", "-x", "PMI_RANK=0")
	require.Zero(t, r.code, r.errors)
	require.Empty(t, r.errors)
}

func greet(w *runtime.World) error {
	c := w.Comm()
	left := make([]int, 1)
	_, err := runtime.SendRecv(c, []int{c.Rank()}, (c.Rank()+1)%c.Size(), 7, left, runtime.AnySource, 7)
	if err != nil {
		return err
	}
	dup, err := c.Dup()
	if err != nil {
		return err
	}
	half, err := dup.Split(c.Rank()%2, -c.Rank())
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "rank %d of %d, left %d, half %d of %d, node %d of %d\n",
		c.Rank(), c.Size(), left[0], half.Rank(), half.Size(), w.NodeRank(), w.Nodes())
	return nil
}

func TestRanksAreProcesses(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		r := launch(t, n, "greet")
		require.Zero(t, r.code, r.errors)
		for rank := range n {
			size := (n + 1 - rank%2) / 2
			require.Contains(t, r.out, fmt.Sprintf("rank %d of %d, left %d, half %d of %d, node 0 of 1\n",
				rank, n, (rank+n-1)%n, size-1-rank/2, size))
		}
	}
}

func TestAProgramWithoutGorunIsAWorldOfOne(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	r := finish(t, []string{envProgram + "=greet"}, self)
	require.Zero(t, r.code, r.errors)
	require.Equal(t, "rank 0 of 1, left 0, half 0 of 1, node 0 of 1\n", r.out)
}

func fail(w *runtime.World) error {
	if w.Rank() == 1 {
		return errors.New("no luck today")
	}
	_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0)
	return err
}

// MPICH's init/exitst1.c, and an error is printed once.
func TestMainEndsWithOneAfterAnError(t *testing.T) {
	r := launch(t, 3, "fail")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "rank 1: no luck today")
	require.Equal(t, 1, strings.Count(r.errors, "\nrank 1: no luck today")+
		strings.Count(r.errors[:min(len(r.errors), 7)], "rank 1:"), r.errors)
}

// breakAsRankTwo breaks a communicator whose ranks are in another order than the world's,
// and continues for a while.
func breakAsRankTwo(w *runtime.World) error {
	c, err := w.Comm().Split(0, -w.Rank())
	if err != nil {
		return err
	}
	if w.Rank() == 2 {
		c.Break(errors.New("no luck today"))
	}
	_, err = runtime.Recv(c, make([]int, 1), (c.Rank()+1)%c.Size(), 0)
	for w.Rank() == 2 && !errors.Is(err, runtime.ErrAborted) && err != nil { // until it gets a signal to end
		_, err = runtime.Recv(w.Comm(), make([]int, 1), 0, 0)
	}
	return err
}

// The first failure is that of the rank that broke a communicator, not of one that ended
// because of it.
func TestFirstFailureIsThatOfTheRankThatBroke(t *testing.T) {
	for range 3 {
		r := launch(t, 4, "break", "-grace", "1")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.errors, "\ngorun: first failure: rank 2 (", r.errors)
		require.Contains(t, r.errors, "was broken by rank 1: no luck today") // 1 in the communicator
	}
}

// In dieWhenNamed rank 0 ends with the loss of rank 1, as all ranks do that are told of one, before rank 1 dies.
func dieWhenNamed(w *runtime.World) error {
	c := w.Comm()
	if w.Rank() == 0 {
		// Synchronous: the break must not overtake it.
		if err := runtime.Ssend(c, []int{os.Getpid()}, 1, 0); err != nil {
			return err
		}
		c.Break(&runtime.PeerError{Rank: 1, Op: "receive", Cause: errors.New("it does not answer")})
		_, err := runtime.Recv(c, make([]int, 1), 1, 0)
		return err
	}
	other := make([]int, 1)
	if _, err := runtime.Recv(c, other, 0, 0); err != nil {
		return err
	}
	for !errors.Is(syscall.Kill(other[0], 0), syscall.ESRCH) { // until gorun knows of its end
		time.Sleep(time.Millisecond)
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// A rank that ends because of the loss of another one names that one: gorun waits for its end.
func TestRankNamesTheOneThatItLost(t *testing.T) {
	r := launch(t, 2, "named")
	require.Equal(t, 137, r.code, r.errors)
	require.Contains(t, r.errors, "receive: rank 1: it does not answer")
	require.Regexp(t, `first failure: rank 1 .* was killed by SIGKILL`, r.errors)
}

func panicAsRankOne(w *runtime.World) error {
	if w.Rank() == 1 {
		panicHere(errors.New("ouch"))
	}
	_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0)
	return err
}

func TestMainPrintsAPanicAndEndsTheJob(t *testing.T) {
	r := launch(t, 3, "panic")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, "rank 1: panic: ouch")
	require.Regexp(t, `goroutine \d+ \[running\]:\n[^\n]*panicHere`, r.errors, "the first frame is where it happened")
	require.Contains(t, r.errors, "first failure: rank 1 ")
	require.Contains(t, r.errors, "aborted the job with code 2: panic: ouch")
}

// In panicOrGoOn rank 1 panics; the others are notified and continue.
func panicOrGoOn(w *runtime.World) error {
	if w.Rank() == 1 {
		panicHere(errors.New("ouch"))
	}
	err := lostRankOne("receive", second(runtime.Recv(w.Comm(), make([]int, 1), 1, 0)))
	fmt.Fprintf(os.Stdout, "rank %d heard: %v\n", w.Rank(), second(runtime.Recv(w.Comm(), make([]int, 1), 1, 0)))
	return err
}

// If survivors continue, a panic is a failure of its rank like others.
func TestPanicOfARankLeavesTheSurvivors(t *testing.T) {
	r := launch(t, 3, "outlive", "-on-failure", "continue")
	require.Equal(t, 2, r.code, r.errors)
	for _, rank := range []int{0, 2} {
		require.Regexp(t, fmt.Sprintf(`rank %d heard: at program_test\.go:\d+: receive: rank 1 is down: exited with code 2\n`, rank), r.out, r.errors)
	}
	require.Contains(t, r.errors, "rank 1: panic: ouch")
	require.Contains(t, r.errors, "first failure: rank 1 ")
}

func abortAsRankOne(w *runtime.World) error {
	if w.Rank() == 1 {
		w.Abort(42)
	}
	_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0)
	return err
}

// MPICH's ft/abort.c and init/exitst2.c: the code of one rank is that of the job.
func TestAbortEndsTheJobWithItsCode(t *testing.T) {
	r := launch(t, 3, "abort")
	require.Equal(t, 42, r.code)
	require.Regexp(t, `first failure: rank 1 .* aborted the job with code 42: World.Abort at program_test.go:\d+ \(runtime_test.abortAsRankOne\)`, r.errors)
}

// deliverAndLeave leaves with large messages under way: the memory they lie in has
// to stay until they are received.
func deliverAndLeave(w *runtime.World) error {
	const n = 8 << 20
	c := w.Comm()
	if c.Rank() == 0 {
		for peer := 1; peer < c.Size(); peer++ {
			runtime.Isend(c, pattern(make([]byte, n), peer), peer, 0)
		}
		return nil
	}
	if _, err := runtime.Probe(c, 0, 0); err != nil {
		return err
	}
	got := make([]byte, n)
	if _, err := runtime.Recv(c, got, 0, 0); err != nil {
		return err
	}
	if string(got) != string(pattern(make([]byte, n), c.Rank())) {
		return errors.New("wrong bytes")
	}
	return nil
}

func TestLeavingWaitsForThePeers(t *testing.T) {
	r := launch(t, 3, "deliver")
	require.Zero(t, r.code, r.errors)
}

// allSizes exchanges messages around the borders of the protocols, in all orders of
// send and receive.
func allSizes(w *runtime.World) error {
	c := w.Comm()
	for round, n := range append(sizes, 5<<20) {
		for peer := range c.Size() {
			if peer == c.Rank() {
				continue
			}
			got := make([]byte, n)
			send := runtime.Isend(c, pattern(make([]byte, n), c.Rank()), peer, round)
			if _, err := runtime.Recv(c, got, peer, round); err != nil {
				return err
			}
			if err := runtime.WaitAll([]runtime.Request{send}); err != nil {
				return err
			}
			if string(got) != string(pattern(make([]byte, n), peer)) {
				return fmt.Errorf("wrong bytes from rank %d in a message of %d", peer, n)
			}
		}
	}
	return nil
}

func TestAllSizesBetweenProcesses(t *testing.T) {
	for _, options := range [][]string{nil, {"-x", "GORUN_CMA=0"}} {
		r := launch(t, 4, "sizes", options...)
		require.Zero(t, r.code, r.errors)
	}
}

// initTwice joins by Init, and checks that a process joins once.
func initTwice() {
	w, err := runtime.Init()
	if err != nil {
		panic(err)
	}
	_, again := runtime.Init()
	fmt.Fprintln(os.Stdout, w, "again:", again != nil)
	if err := errors.Join(greet(w), w.Close(), w.Close()); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, "closed:", runtime.Send(w.Comm(), []int{1}, 0, 0))
}

// MPICH's init/initstat.c: a process joins once, and knows it.
func TestInitAndClose(t *testing.T) {
	r := launch(t, 2, "init")
	require.Zero(t, r.code, r.errors)
	require.Contains(t, r.out, "rank 1 of 2 again: true\n")
	require.Equal(t, 2, strings.Count(r.out, ": world is closed\n")+strings.Count(r.out, ": engine is closed\n"), r.out)
}
