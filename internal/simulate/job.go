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
	// limit is how long a job may take in virtual time.
	limit = 30 * time.Minute
	// realLimit is how long it may take in real time: a goroutine that never blocks stops
	// the virtual clock.
	realLimit = 2 * time.Minute
)

var (
	// ErrHang says that all goroutines of a job are blocked and no event is to come.
	ErrHang = errors.New("the job hangs: every goroutine is blocked, and nothing is under way")
	// ErrGivenUp ends a job whose program cannot continue after a loss. It is not a failure.
	ErrGivenUp = errors.New("the program gives up because of a loss, as it may")
	// ErrLimit says that a job has not ended in time, though there are events.
	ErrLimit = errors.New("the job does not end: events go on, or timers")
)

// Program is what the ranks of a simulated job do.
type Program struct {
	// Name is that of the test.
	Name string
	// Ranks are the numbers of ranks among which the seed chooses.
	Ranks []int
	// Mortal says that the program expects the death of a rank.
	Mortal bool
	// Adapt changes the conditions that the seed has drawn. May be nil.
	Adapt func(*Conditions)
	// Trace gets a line for each event, unless nil.
	Trace io.Writer
	// Repeat is the command that repeats a run, "" for that of TestPrograms.
	Repeat string
	// Main is run by each rank. It returns an error if what gorun did is wrong.
	Main func(Rank) error
}

// Rank is what a rank's Main gets.
type Rank struct {
	*runtime.World
	// Seed is the job's.
	Seed int64
	// Conditions are the job's.
	Conditions *Conditions
	// Ended is closed when the job ends before its time, or the rank dies: waits that are
	// not gorun's end with it.
	Ended <-chan struct{}

	// Board is shared by the ranks of the job, for oracles.
	Board *sync.Map

	meeting *meeting
}

// Silence is longer than any message is under way.
const Silence = 3 * time.Second

// meeting is what the ranks of a job share for Meet.
type meeting struct {
	mu   sync.Mutex
	n    int // ranks that are there
	next chan struct{}
}

// Meet waits, without a message, until all ranks have called it. Where a rank may die it must
// not be called.
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

// Calm is Meet, and then waits until nothing is under way.
func (r Rank) Calm() error {
	err := r.Meet()
	time.Sleep(Silence + time.Duration(r.Rank())) // virtual time, another for each rank
	return err
}

// Result is what a run came to.
type Result struct {
	Program string
	Seed    int64
	Ranks   int
	// Conditions are those that the seed drew.
	Conditions Conditions
	// Events is their number, Sum a sum over all: two runs of a seed have the same.
	Events int
	Sum    uint64
	// Virtual is how long the job took in virtual time.
	Virtual time.Duration
	// Err is nil if all went as it should.
	Err error
	// Last are the last events.
	Last string

	repeat string
}

// RunSeeds runs a program of another package under the seeds from 1 to n, each in a subtest
// that has its number.
func RunSeeds(t *testing.T, p Program, n int64) {
	t.Helper()
	// The goroutines of a rank take turns in the same order each time.
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

// Run runs a program under a seed in a bubble of its own. ranks is 0 where the seed is to
// choose.
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
	// A collection in the middle would run goroutines of its own.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	synctest.Test(t, func(*testing.T) { result.run(p) })
	return result
}

// Command repeats the run.
func (r *Result) Command() string {
	if r.repeat != "" {
		return r.repeat
	}
	return fmt.Sprintf("go test ./internal/simulate -run 'TestPrograms/%s$' -seed %d -ranks %d", r.Program, r.Seed, r.Ranks)
}

// String is the report of a run that failed.
func (r *Result) String() string {
	return fmt.Sprintf("%s of %d ranks under seed %d: %v\nconditions: %v\n%d events in %v, the last ones:\n%sto repeat it:\n  %s",
		r.Program, r.Ranks, r.Seed, r.Err, r.Conditions, r.Events, r.Virtual, r.Last, r.Command())
}

// run is Run within the bubble.
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
			if life.Err() == nil { // one that was killed may be there again
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
	// What goroutines a program has left end by themselves, or the bubble panics.
	time.Sleep(patience) // virtual time
}

// lives has what ends with the ranks.
type lives struct {
	mu   sync.Mutex
	ends []context.CancelFunc // of the newest process of each rank, nil before the first
}

// begin returns a context that ends with a rank that is started, or with the job.
func (l *lives) begin(job context.Context, rank int) context.Context {
	ctx, end := context.WithCancel(job)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[rank] = end
	return ctx
}

// end ends it.
func (l *lives) end(rank int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if end := l.ends[rank]; end != nil {
		end()
	}
}

// finish takes note of the end.
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
