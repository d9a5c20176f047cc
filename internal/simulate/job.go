package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	// limit is the longest virtual time that a job may take.
	limit = 30 * time.Minute
	// realLimit is the longest real time that a job may take. It ends a run in which a goroutine
	// never blocks, because such a goroutine stops the virtual clock.
	realLimit = 2 * time.Minute
)

var (
	// ErrHang is the error of a job in which all goroutines are blocked and no event is left.
	ErrHang = errors.New("the job hangs: every goroutine is blocked, and nothing is under way")
	// ErrGivenUp is the error of a program that cannot continue after a loss. The job ends, and the run
	// counts as successful.
	ErrGivenUp = errors.New("the program gives up because of a loss, as it may")
	// ErrLimit is the error of a job that has not ended within the virtual time limit, though events or
	// timers go on.
	ErrLimit = errors.New("the job does not end: events or timers go on")
)

// Program is the program that the ranks of a simulated job run.
type Program struct {
	// Name is the name of the program's subtest of TestPrograms.
	Name string
	// Ranks are the numbers of ranks among which the seed chooses.
	Ranks []int
	// Mortal is true if the program expects the death of a rank.
	Mortal bool
	// Adapt changes the conditions that were drawn from the seed. It may be nil.
	Adapt func(*Conditions)
	// Trace receives a line for each event. It may be nil.
	Trace io.Writer
	// Repeat is the command that repeats a run. "" means a command that runs TestPrograms.
	Repeat string
	// Main is called at each rank. It returns an error if gorun behaves wrongly.
	Main func(Rank) error
}

// Rank is the argument of a rank's Main.
type Rank struct {
	*runtime.World
	// Seed is the seed of the job.
	Seed int64
	// Conditions are the conditions of the job.
	Conditions *Conditions
	// Ended is closed when the job is ended early, or when the rank dies. Main must then end every wait
	// outside gorun.
	Ended <-chan struct{}

	// Board is a map that all ranks of the job share, for oracles.
	Board *sync.Map

	meeting *meeting
}

// Silence is longer than the longest time for which a message is in flight.
const Silence = 3 * time.Second

// meeting is the state of Meet, which the ranks of a job share.
type meeting struct {
	mu   sync.Mutex
	n    int           // number of ranks that have called Meet and wait
	next chan struct{} // closed when all ranks have called Meet
}

// Meet waits until all ranks have called it, without sending messages. It must not be called in a
// job in which a rank may die.
func (r Rank) Meet() error {
	m := r.meeting
	m.mu.Lock()
	all := m.next
	if m.n++; m.n == r.Size() {
		m.n, m.next = 0, make(chan struct{})
		close(all)
	}
	m.mu.Unlock()
	select {
	case <-all:
		return nil
	case <-r.Ended:
		return ErrHang
	}
}

// Calm calls Meet, and then waits until no message is in flight.
func (r Rank) Calm() error {
	err := r.Meet()
	time.Sleep(Silence + time.Duration(r.Rank())) // virtual time, different at each rank
	return err
}

// Result is the result of a run.
type Result struct {
	Program string
	Seed    int64
	Ranks   int
	// Conditions are the conditions of the run: drawn from the seed, and changed by Program.Adapt.
	Conditions Conditions
	// Events is the number of events. Sum is a hash of all events. Two runs of a seed should have the same
	// Events and Sum.
	Events int
	Sum    uint64
	// Virtual is the virtual time that the job took.
	Virtual time.Duration
	// Err is nil if the program found no error.
	Err error
	// Last is the text of the last events.
	Last string

	repeat string
}

// RunSeeds runs a program of another package under the seeds 1 to n, each in a subtest
// whose name is the seed.
func RunSeeds(t *testing.T, p Program, n int64) {
	t.Helper()
	// With one processor, the goroutines of a rank run in the same order each time.
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	for seed := int64(1); seed <= n; seed++ {
		t.Run(strconv.FormatInt(seed, 10), func(t *testing.T) {
			p.Repeat = fmt.Sprintf("go test -run '%s$' (in the directory of the program)", t.Name())
			if r := Run(t, p, seed, 0); r.Err != nil {
				t.Fatal(r.String())
			}
		})
	}
}

// Run runs a program under a seed in a bubble of its own. If ranks is 0, the seed chooses the
// number of ranks.
func Run(t *testing.T, p Program, seed int64, ranks int) (result Result) {
	t.Helper()
	r := stream(seed, streamRun)
	if chosen := Pick(r, p.Ranks...); ranks == 0 {
		ranks = chosen
	}
	result = Result{Program: p.Name, Seed: seed, Ranks: ranks, Conditions: Draw(seed, ranks, p.Mortal), repeat: p.Repeat}
	if p.Adapt != nil {
		p.Adapt(&result.Conditions)
	}
	late := time.AfterFunc(realLimit, func() {
		panic(fmt.Sprintf("a goroutine does not block: %s", result.Command()))
	})
	defer late.Stop()
	// A garbage collection during the run would run goroutines of its own.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	synctest.Test(t, func(*testing.T) { result.run(p) })
	return result
}

// Command returns the shell command that repeats the run.
func (r *Result) Command() string {
	if r.repeat != "" {
		return r.repeat
	}
	return fmt.Sprintf("go test ./internal/simulate -run 'TestPrograms/%s$' -seed %d -ranks %d", r.Program, r.Seed, r.Ranks)
}

// String returns the report of a run that has failed.
func (r *Result) String() string {
	return fmt.Sprintf("%s of %d ranks under seed %d: %v\nconditions: %v\n%d events in %v, the last ones:\n%sto repeat it:\n  %s",
		r.Program, r.Ranks, r.Seed, r.Err, r.Conditions, r.Events, r.Virtual, r.Last, r.Command())
}

// run executes the job within the bubble and sets the fields of the result.
func (r *Result) run(p Program) {
	ctx, hang := context.WithCancelCause(context.Background())
	defer hang(nil)
	lives := &lives{ends: make([]context.CancelFunc, r.Ranks)}
	meet := &meeting{next: make(chan struct{})}
	board := new(sync.Map)
	net := newNetwork(r.Ranks, r.Seed, r.Conditions, p.Trace)
	job, err := localjob.Start(localjob.Config{
		Ranks: r.Ranks, Network: net.generations[0], Budget: r.Conditions.Budget, Launcher: net.launcher(),
		Restarts: r.Conditions.Restarts,
		Next:     func(number int) localjob.Network { return net.next(number, r.Seed) },
		Main: func(world any) error {
			w := world.(*runtime.World)
			life := lives.begin(ctx, w.Rank())
			net.runs(w.Rank(), true)
			err := p.Main(Rank{w, r.Seed, &r.Conditions, life.Done(), board, meet})
			if err != nil && life.Err() == nil {
				net.fail()
			}
			if life.Err() == nil { // otherwise the rank was killed, and may have been started again
				net.runs(w.Rank(), false)
			}
			return err
		},
	})
	if err != nil {
		r.Err = err
		return
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		net.run(func(rank int) bool {
			if !job.Kill(rank, errKilled) {
				return false
			}
			lives.end(rank)
			return true
		}, func() {
			if ctx.Err() != nil {
				r.finish(net, fmt.Errorf("%w; and the ranks do not return:\n%s", context.Cause(ctx), job.Report()))
				fmt.Fprintln(os.Stderr, r)
			}
			hang(ErrHang)
		})
	}()
	over := time.AfterFunc(limit, func() { hang(ErrLimit) })
	err = job.Wait(ctx)
	over.Stop()
	hang(nil)
	net.stop()
	<-drained
	r.finish(net, err)
	// Goroutines that the program has not ended must end by themselves in this time, or the bubble panics.
	time.Sleep(patience) // virtual time
}

// lives has, for each rank, a context that ends when the rank ends.
type lives struct {
	mu   sync.Mutex
	ends []context.CancelFunc // by rank: cancels the context of the rank's newest start, nil before the first
}

// begin returns a context for a rank that is started. The context ends at the next end of the rank, or
// at the end of the job.
func (l *lives) begin(job context.Context, rank int) context.Context {
	ctx, end := context.WithCancel(job)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[rank] = end
	return ctx
}

// end cancels the context of the newest start of a rank.
func (l *lives) end(rank int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if end := l.ends[rank]; end != nil {
		end()
	}
}

// finish sets the fields of the result when the job has ended with err.
func (r *Result) finish(net *Network, err error) {
	net.mu.Lock()
	defer net.mu.Unlock()
	net.record.settle()
	r.Events, r.Sum, r.Last, r.Virtual = net.record.events, net.record.sum.Sum64(), net.record.last(), net.now()
	if r.Err = err; errors.Is(err, ErrGivenUp) {
		r.Err = nil
	}
	if len(net.faults) > 0 {
		r.Err = errors.Join(fmt.Errorf("misuse of the transport: %s", strings.Join(net.faults, "; ")), r.Err)
	}
}
