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

// envProgram names the program that a process started by a test runs instead of the tests.
const envProgram = "GORUN_TEST_PROGRAM"

// programs are the programs that envProgram can name.
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

// result is the exit code and the output of a finished command.
type result struct {
	code        int
	out, errors string
}

// launch runs a program of the map programs with n ranks.
func launch(t *testing.T, n int, program string, options ...string) result {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return launchFile(t, n, self, append(options, "-x", envProgram+"="+program)...)
}

// launchFile runs an executable with n ranks.
func launchFile(t *testing.T, n int, file string, options ...string) result {
	t.Helper()
	command := append([]string{testbed.Gorun(t), "-np", strconv.Itoa(n)}, options...)
	return finish(t, nil, append(command, file)...)
}

// finish runs a command with additional environment variables until it ends.
func finish(t *testing.T, env []string, command ...string) result {
	t.Helper()
	r := testbed.Run(t, env, command...)
	return result{r.Code, r.Out, r.Errors}
}

// Processes that another launcher started report, once, that each of them is a World of its own.
// Ranks of gorun do not report that.
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

// Ranks that gorun starts as processes exchange messages and split communicators.
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

// A program that was started without gorun is a World of one rank.
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

// If the function of a rank returns an error, the job ends with exit code 1, and the error is
// printed once (MPICH's init/exitst1.c).
func TestMainEndsWithOneAfterAnError(t *testing.T) {
	r := launch(t, 3, "fail")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "rank 1: no luck today")
	require.Equal(t, 1, strings.Count(r.errors, "\nrank 1: no luck today")+
		strings.Count(r.errors[:min(len(r.errors), 7)], "rank 1:"), r.errors)
}

// breakAsRankTwo makes rank 2 break a communicator in which the ranks are in another order than in the World. Rank 2
// then continues until gorun ends it.
func breakAsRankTwo(w *runtime.World) error {
	c, err := w.Comm().Split(0, -w.Rank())
	if err != nil {
		return err
	}
	if w.Rank() == 2 {
		c.Break(errors.New("no luck today"))
	}
	_, err = runtime.Recv(c, make([]int, 1), (c.Rank()+1)%c.Size(), 0)
	for w.Rank() == 2 && !errors.Is(err, runtime.ErrAborted) && err != nil { // until gorun ends this rank by a signal
		_, err = runtime.Recv(w.Comm(), make([]int, 1), 0, 0)
	}
	return err
}

// The first failure that gorun reports is the failure of the rank that broke a communicator. It is not
// the failure of a rank that ended as a consequence.
func TestFirstFailureIsThatOfTheRankThatBroke(t *testing.T) {
	for range 3 {
		r := launch(t, 4, "break", "-grace", "1")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.errors, "\ngorun: first failure: rank 2 (", r.errors)
		require.Contains(t, r.errors, "was broken by rank 1: no luck today") // rank 1 of the communicator
	}
}

// dieWhenNamed makes rank 0 end with an error that names the loss of rank 1, before rank 1 dies.
func dieWhenNamed(w *runtime.World) error {
	c := w.Comm()
	if w.Rank() == 0 {
		// The send is synchronous, because the break must not overtake the message.
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
	for !errors.Is(syscall.Kill(other[0], 0), syscall.ESRCH) { // until gorun knows that rank 0 has ended
		time.Sleep(time.Millisecond)
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// If a rank ends with an error that names the loss of another rank, gorun waits for the end of the
// named rank. Then gorun reports that end as the first failure.
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

// A panic in Main is printed with its stack, and ends the job with exit code 2.
func TestMainPrintsAPanicAndEndsTheJob(t *testing.T) {
	r := launch(t, 3, "panic")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, "rank 1: panic: ouch")
	require.Regexp(t, `goroutine \d+ \[running\]:\n[^\n]*panicHere`, r.errors, "the first frame is where it happened")
	require.Contains(t, r.errors, "first failure: rank 1 ")
	require.Contains(t, r.errors, "aborted the job with code 2: panic: ouch")
}

// panicOrGoOn makes rank 1 panic. The other ranks are notified and continue.
func panicOrGoOn(w *runtime.World) error {
	if w.Rank() == 1 {
		panicHere(errors.New("ouch"))
	}
	err := lostRankOne("receive", second(runtime.Recv(w.Comm(), make([]int, 1), 1, 0)))
	fmt.Fprintf(os.Stdout, "rank %d heard: %v\n", w.Rank(), second(runtime.Recv(w.Comm(), make([]int, 1), 1, 0)))
	return err
}

// With -on-failure continue, a panic ends only the rank that panics. The other ranks get a PeerError.
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

// Abort ends the job with the exit code that one rank passes (MPICH's ft/abort.c and
// init/exitst2.c).
func TestAbortEndsTheJobWithItsCode(t *testing.T) {
	r := launch(t, 3, "abort")
	require.Equal(t, 42, r.code)
	require.Regexp(t, `first failure: rank 1 .* aborted the job with code 42: World.Abort at program_test.go:\d+ \(runtime_test.abortAsRankOne\)`, r.errors)
}

// deliverAndLeave makes rank 0 return while large messages are in flight. Their memory must stay
// valid until they are received.
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

// A process whose function has returned does not end before its messages are received.
func TestLeavingWaitsForThePeers(t *testing.T) {
	r := launch(t, 3, "deliver")
	require.Zero(t, r.code, r.errors)
}

// allSizes exchanges messages with lengths around the limits between the protocols. Each rank
// starts its send before its receive.
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

// Messages of all sizes arrive unchanged between processes, with process_vm_readv and without it.
func TestAllSizesBetweenProcesses(t *testing.T) {
	for _, options := range [][]string{nil, {"-x", "GORUN_CMA=0"}} {
		r := launch(t, 4, "sizes", options...)
		require.Zero(t, r.code, r.errors)
	}
}

// initTwice joins the job by Init, and requires that a second Init fails.
func initTwice() {
	w, err := runtime.Init()
	if err != nil {
		panic(err)
	}
	_, again := runtime.Init()
	fmt.Fprintln(os.Stdout, w, "again:", again)
	if err := errors.Join(greet(w), w.Close(), w.Close()); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, "closed:", runtime.Send(w.Comm(), []int{1}, 0, 0))
}

// A process can join a job only once, and a Send after World.Close fails (MPICH's init/initstat.c).
func TestInitAndClose(t *testing.T) {
	r := launch(t, 2, "init")
	require.Zero(t, r.code, r.errors)
	require.Contains(t, r.out, "rank 1 of 2 again: runtime: this process has joined its job already: call Main or Init once\n")
	require.Equal(t, 2, strings.Count(r.out, ": the World is closed\n"), r.out)
}
