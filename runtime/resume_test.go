package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["resume"] = func() { runtime.Main(resume) }
	programs["resume twice"] = func() { runtime.Main(resumeTwice) }
	programs["no resume"] = func() { runtime.Main(goOnWithoutResume) }
	programs["own error"] = func() { runtime.Main(failInResume) }
	programs["stillborn"] = dieBeforeItJoins
}

// envDeaths is a list of "generation:rank:place", which says where ranks kill themselves.
const envDeaths = "GORUN_TEST_DEATHS"

// dieAt kills this process if envDeaths lists this generation, rank and place. If "!" follows the
// entry, dieAt kills the agent, and thereby the host.
func dieAt(w *runtime.World, place string) {
	here := fmt.Sprintf(",%d:%d:%s", w.Generation(), w.Rank(), place)
	switch deaths := "," + os.Getenv(envDeaths) + ","; {
	case strings.Contains(deaths, here+"!,"):
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
		select {} // until the end of the agent ends this process
	case strings.Contains(deaths, here+","):
		killMyself()
	}
}

func killMyself() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// resume communicates in every generation, and fails if it receives a message of another
// generation.
func resume(w *runtime.World) error {
	if w.Role() == runtime.Recovered {
		dieAt(w, "main")
	}
	outer := w
	return w.Resume(func(w *runtime.World) error {
		if w.Generation() == 0 && (w != outer || w.Role() != runtime.Initial) {
			return fmt.Errorf("first World: %v", w.Role())
		}
		if (w.Role() == runtime.Recovered) != (w == outer && w.Generation() > 0) {
			return fmt.Errorf("World of generation %d: %v", w.Generation(), w.Role())
		}
		dieAt(w, "start")
		parts := []func(*runtime.World) error{leaveUnreceived, exchangeLong, exchangeShort, exchangeDup}
		if w.Size() == 1 {
			parts = parts[3:]
		}
		for _, part := range parts {
			if err := part(w); err != nil {
				namesTheDead(w, err)
				return err
			}
		}
		if os.Getenv(envDeaths) != "" && strings.Contains(os.Getenv(envDeaths), fmt.Sprintf("%d:0:fence", w.Generation())) {
			// Rank 0 dies after its function has returned, while rank 1 still waits for it.
			switch w.Rank() {
			case 0:
				time.AfterFunc(20*time.Millisecond, killMyself)
			case 1:
				_, err := runtime.Recv(w.Comm(), make([]int, 1), 0, 99)
				return err
			}
		}
		fmt.Fprintf(os.Stdout, "rank %d: %v in generation %d\n", w.Rank(), w.Role(), w.Generation())
		return nil
	})
}

// namesTheDead panics if an error names a rank that is alive. A panic is not among the deaths that
// envDeaths lists, so the test fails.
func namesTheDead(w *runtime.World, err error) {
	var lost *runtime.PeerError
	if errors.As(err, &lost) && !strings.Contains(","+os.Getenv(envDeaths), fmt.Sprintf(",%d:%d:", w.Generation(), lost.Rank)) {
		panic(fmt.Sprintf("rank %d lives: %v", lost.Rank, err))
	}
	failed, _ := w.Comm().Failed()
	for _, rank := range failed.Ranks() {
		if !strings.Contains(","+os.Getenv(envDeaths), fmt.Sprintf(",%d:%d:", w.Generation(), rank)) {
			panic(fmt.Sprintf("rank %d lives, but has failed", rank))
		}
	}
}

// leaveUnreceived sends a message to each other rank. Each rank receives only one of the messages
// sent to it.
func leaveUnreceived(w *runtime.World) error {
	c := w.Comm()
	for peer := range c.Size() {
		if peer != c.Rank() {
			if err := runtime.Send(c, []int{w.Generation()}, peer, 50); err != nil {
				return err
			}
		}
	}
	dieAt(w, "unreceived")
	// The message that is received must not be of an older generation.
	got := []int{-1}
	if _, err := runtime.Recv(c, got, runtime.AnySource, 50); err != nil {
		return err
	}
	return expect(w, got[0])
}

func expect(w *runtime.World, got int) error {
	if got != w.Generation() {
		panic(fmt.Sprintf("a message of generation %d in %d", got, w.Generation()))
	}
	return nil
}

// exchangeLong exchanges messages that are so long that the receiver fetches them.
func exchangeLong(w *runtime.World) error {
	c := w.Comm()
	out, in := make([]int, 1<<17), make([]int, 1<<17)
	for i := range out {
		out[i] = w.Generation()
	}
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for range 5 {
		sent := runtime.Isend(c, out, right, 1)
		dieAt(w, "long")
		if _, err := runtime.Recv(c, in, left, 1); err != nil {
			return err
		}
		if _, err := sent.Wait(); err != nil {
			return err
		}
		for _, x := range in {
			if err := expect(w, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// exchangeShort makes each rank wait for its left neighbour. It has few rounds, because on a loaded
// machine each round takes until all processes have been scheduled.
func exchangeShort(w *runtime.World) error {
	c := w.Comm()
	got := []int{0}
	for i := range 20 {
		if i == 10 {
			dieAt(w, "short")
		}
		if _, err := runtime.SendRecv(c, []int{w.Generation()}, (c.Rank()+1)%c.Size(), 2, got, (c.Rank()+c.Size()-1)%c.Size(), 2); err != nil {
			return err
		}
		if err := expect(w, got[0]); err != nil {
			return err
		}
	}
	return nil
}

// exchangeDup exchanges messages on communicators that were created in this generation.
func exchangeDup(w *runtime.World) error {
	dup, err := w.Comm().Dup()
	if err != nil {
		return err
	}
	dieAt(w, "dup")
	half, err := dup.Split(w.Rank()%2, 0)
	if err != nil {
		return err
	}
	got := []int{0}
	if _, err := runtime.SendRecv(half, []int{w.Generation()}, (half.Rank()+1)%half.Size(), 2, got, (half.Rank()+half.Size()-1)%half.Size(), 2); err != nil {
		return err
	}
	return errors.Join(expect(w, got[0]), half.Close(), dup.Close())
}

// Ranks that die are started again, wherever they die, and all ranks complete the function in the same
// generation.
func TestResume(t *testing.T) {
	for name, c := range map[string]struct {
		deaths string
		ranks  int
		last   int // upper bound of the number of the last generation
	}{
		"nothing":            {"", 3, 0},
		"at the start":       {"0:1:start", 3, 1},
		"eager messages":     {"0:2:unreceived", 4, 1},
		"long messages":      {"0:0:long", 3, 1},
		"short messages":     {"0:1:short", 2, 1},
		"communicators":      {"0:3:dup", 4, 1},
		"fence":              {"0:0:fence", 3, 1},
		"twice the same":     {"0:1:short,1:1:short", 3, 2},
		"two at once":        {"0:1:long,0:2:long", 4, 2},
		"all at once":        {"0:0:long,0:1:long,0:2:long", 3, 3},
		"the recovered":      {"0:1:short,1:1:main", 3, 2},
		"a world of one":     {"0:0:start", 1, 1},
		"another, and again": {"0:1:short,1:2:long,2:0:fence", 3, 3},
	} {
		transports := []string{"auto", "rdma"}
		if c.last == 0 || !soak() && (c.last > 1 || c.ranks != 3) {
			transports = transports[:1]
		}
		for _, transport := range transports {
			t.Run(name+" "+transport, func(t *testing.T) {
				r := launch(t, c.ranks, "resume", "-on-failure", "respawn", "-transport", transport, "-x", envDeaths+"="+c.deaths)
				require.Zero(t, r.code, r.errors+r.out)
				// A rank may learn of another rank's death, and leave the generation, before it
				// comes to the place of its own death.
				last := strings.Count(r.errors, "; it is started again (")
				require.LessOrEqual(t, min(c.last, 1), last, r.errors)
				require.GreaterOrEqual(t, c.last, last, r.errors)
				require.Equal(t, c.ranks, strings.Count(r.out, fmt.Sprintf("in generation %d\n", last)), r.out)
				require.NotContains(t, r.errors, "the job failed")
			})
		}
	}
}

// If the job has had all its restarts, the next loss ends the job, and gorun says so.
func TestResumeLimit(t *testing.T) {
	r := launch(t, 3, "resume", "-on-failure", "respawn=1", "-x", envDeaths+"=0:1:short,1:2:short")
	require.Equal(t, 137, r.code, r.errors)
	require.Contains(t, r.errors, "first failure: rank 2 ")
	require.Contains(t, r.errors, "was killed by SIGKILL (signal 9, killed) after ")
	require.Contains(t, r.errors, "; it is not started again, because the job has had all its restarts, 1 (-on-failure respawn=1)\n")
}

// dieBeforeItJoins is a program that works only the first time that a rank is started.
func dieBeforeItJoins() {
	if os.Getenv("GORUN_EPOCH") != "0" {
		killMyself()
	}
	runtime.Main(resume)
}

// A rank that ends twice in a row before it has joined the job is not started again.
func TestResumeStillborn(t *testing.T) {
	r := launch(t, 2, "stillborn", "-on-failure", "respawn=100", "-x", envDeaths+"=0:1:short")
	require.Equal(t, 137, r.code, r.errors)
	require.Equal(t, 2, strings.Count(r.errors, "; it is started again ("), r.errors)
	require.Contains(t, r.errors, "it is not started again, because it ended twice before it had joined the job")
}

// resumeTwice calls Resume a second time, which must fail.
func resumeTwice(w *runtime.World) error {
	if err := w.Resume(func(*runtime.World) error { return nil }); err != nil {
		return err
	}
	if err := w.Resume(func(*runtime.World) error { return nil }); !errors.Is(err, runtime.ErrResume) {
		return fmt.Errorf("second Resume: %w", err)
	}
	return nil
}

// A second call of Resume returns ErrResume, with and without restarts.
func TestResumeTwice(t *testing.T) {
	for _, policy := range []string{"kill", "respawn"} {
		r := launch(t, 2, "resume twice", "-on-failure", policy)
		require.Zero(t, r.code, r.errors)
	}
}

// goOnWithoutResume is a program that does not call Resume.
func goOnWithoutResume(w *runtime.World) error {
	dieAt(w, "start")
	_, err := runtime.SendRecv(w.Comm(), []int{1}, 1-w.Rank(), 0, make([]int, 1), 1-w.Rank(), 0)
	return err
}

// If a program does not call Resume, the loss of a rank ends the job with the error of a survivor.
// The error names the lost rank and says what the program must do.
func TestRespawnWithoutResume(t *testing.T) {
	r := launch(t, 2, "no resume", "-on-failure", "respawn", "-x", envDeaths+"=0:1:start")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.errors, "was killed by SIGKILL (signal 9, killed); it is started again (1 of 3)")
	killed := regexp.MustCompile(`gorun: rank 1 \(pid (\d+)\) was killed`).FindStringSubmatch(r.errors)
	require.Len(t, killed, 2, r.errors)
	require.Regexp(t, `first failure: rank 1 \(.*, pid `+killed[1]+`\) made rank 0 fail: `, r.errors)
	require.Contains(t, r.errors, "rank 1: was killed by SIGKILL (signal 9, killed); it is started again, but this rank cannot go on: the program has to call World.Resume")
}

var errOwn = errors.New("the input has no lines")

func failInResume(w *runtime.World) error {
	return w.Resume(func(w *runtime.World) error {
		if w.Rank() == 1 {
			return errOwn
		}
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0)
		return err
	})
}

// An error of the program ends the job, because another start would end with the same error.
func TestOwnErrorEndsResume(t *testing.T) {
	r := launch(t, 2, "own error", "-on-failure", "respawn")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.errors, "rank 1: the input has no lines")
	require.NotContains(t, r.errors, "started again")
}
