package actors_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// worldRanks is the number of ranks of each World.
const worldRanks = 4

// errWanted is the error with which a World fails on purpose.
var errWanted = errors.New("wanted")

// worldPrograms has programs for the ranks of a World, and the error with which the World must end.
var worldPrograms = map[string]struct {
	run  func(w *runtime.World) error
	want error
}{
	"plain":                       {plainRank, nil},
	"actors":                      {actorsRank, nil},
	"actors that are not found":   {strandedRank, nil},
	"failing":                     {failingRank(plainRank), errWanted},
	"failing, actors":             {failingRank(actorsRank), errWanted},
	"failing, actors with queues": {failingRank(strandedRank), errWanted},
	"panicking, actors":           {panickingRank(actorsRank), errWanted},
	"cancelled":                   {cancelledRank(plainRank), nil},
	"cancelled, actors":           {cancelledRank(actorsRank), nil},
}

// plainRank uses every kind of memory that a rank has.
func plainRank(w *runtime.World) error {
	c, err := w.Comm().Dup()
	if err != nil {
		return err
	}
	next, last := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	for _, n := range []int{1, 5000, 300_000} {
		if _, err := runtime.SendRecv(c, make([]byte, n), next, 1, make([]byte, n), last, 1); err != nil {
			return err
		}
	}
	b, err := runtime.Alloc[byte](w, 20_000)
	if err != nil {
		return err
	}
	if err := runtime.SendBuffer[byte](c, b, next, 2); err != nil {
		return err
	}
	m, err := runtime.RecvMessage(c, last, 2)
	if err != nil {
		return err
	}
	m.Close()
	runtime.Irecv(c, make([]byte, 10), last, 99) // never completes, and its handle is dropped
	shared, err := runtime.NewShared(c, 4096)
	if err != nil {
		return err
	}
	return shared.Close()
}

// actorsRank makes an actor to which other ranks send requests and which another rank watches, and
// registers a name for it.
func actorsRank(w *runtime.World) error {
	s, err := actors.OfConfig(w, actors.Config{Patience: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	pid, err := s.Spawn(answerer(s.Inline()), "answer")
	if err != nil {
		return err
	}
	if err := s.RegisterName(fmt.Sprint("name", w.Rank()), pid); err != nil {
		return err
	}
	next := (w.Rank() + 1) % w.Size()
	for _, m := range []any{1, strings.Repeat("m", 3000), strings.Repeat("l", 300_000)} {
		if _, err := s.Root.RequestFuture(s.PID(next, "answer"), m, soon).Result(); err != nil {
			return err
		}
	}
	watching := make(chan struct{})
	if _, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, started := c.Message().(*actor.Started); started {
			c.Watch(s.PID(next, "answer"))
			close(watching)
		}
	}), "watcher"); err != nil {
		return err
	}
	<-watching
	router, err := s.Route(actors.FirstAnswer, "", s.PID(next, "answer"), s.PID((next+1)%w.Size(), "answer"))
	if err != nil {
		return err
	}
	_, err = s.Root.RequestFuture(router, 1, soon).Result()
	return err
}

// answerer returns the properties of an actor that answers each request with its message.
func answerer(mode actor.PropsOption) *actor.Props {
	return actor.PropsFromFunc(func(c actor.Context) {
		if c.Sender() != nil {
			c.Respond(c.Message())
		}
	}, mode)
}

// strandedRank returns while operations are pending that would last for an hour or for ever.
// Messages wait for actors that never exist, on its own rank and on another rank. The messages for
// the other rank exceed the window of credit. Requests, and the receive timeout of an actor, are pending.
// A goroutine waits for room in the mailbox of an actor that does not run, because the actor's own
// outbox is not empty.
func strandedRank(w *runtime.World) error {
	s, err := actors.OfConfig(w, actors.Config{Patience: time.Hour, Mailbox: 10_000, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	next := (w.Rank() + 1) % w.Size()
	told := make(chan struct{})
	pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); ok {
			c.SetReceiveTimeout(time.Hour)
			c.Send(s.PID(w.Rank(), "never"), "kept")
			c.Watch(s.PID(next, "never"))
			for range 200 {
				c.Send(s.PID(next, "never"), strings.Repeat("m", 3000))
			}
			close(told)
		}
	}), "teller")
	if err != nil {
		return err
	}
	<-told
	s.Root.RequestFuture(s.PID(next, "neither"), "unanswered", time.Hour)
	s.Root.RequestFuture(actor.NewPID(pid.Address, pid.Id), "unanswered", time.Hour)
	go func() {
		for range 100 {
			s.Root.Send(pid, strings.Repeat("m", 1000))
		}
	}()
	return nil
}

// failingRank returns a program in which rank 1 fails after it has run the given program. The other
// ranks wait for rank 1.
func failingRank(program func(w *runtime.World) error) func(w *runtime.World) error {
	return func(w *runtime.World) error {
		if err := program(w); err != nil {
			return err
		}
		if w.Rank() == 1 {
			return errWanted
		}
		_, err := runtime.Recv(w.Comm(), make([]byte, 1), 1, 5)
		return err
	}
}

// panickingRank returns a program in which rank 1 panics after it has run the given program. The
// other ranks wait for rank 1.
func panickingRank(program func(w *runtime.World) error) func(w *runtime.World) error {
	return failingRank(func(w *runtime.World) error {
		if err := program(w); err != nil {
			return err
		}
		if w.Rank() == 1 {
			panic(errWanted)
		}
		return nil
	})
}

// cancelledRank returns a program that runs the given one and then cancels operations of several
// kinds.
func cancelledRank(program func(w *runtime.World) error) func(w *runtime.World) error {
	return func(w *runtime.World) error {
		if err := program(w); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		c, next := w.Comm().WithContext(ctx), (w.Rank()+1)%w.Size()
		waits := []func() error{
			func() error { _, err := runtime.Recv(c, make([]byte, 1), next, 6); return err },
			func() error { _, err := runtime.Irecv(c, make([]byte, 1), next, 7).Wait(); return err },
			func() error { return runtime.Ssend(c, make([]byte, 100_000), next, 8) },
			func() error { _, err := runtime.Probe(c, runtime.AnySource, 9); return err },
			func() error { _, err := runtime.NewRequest(c, untilDone).Wait(); return err },
		}
		ended := make(chan error, len(waits))
		for _, wait := range waits {
			go func() { ended <- wait() }()
		}
		cancel()
		for range waits {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				return fmt.Errorf("a wait whose context was cancelled: %w", err)
			}
		}
		return nil
	}
}

// untilDone waits for a message that does not arrive.
func untilDone(c *runtime.Comm) error {
	_, err := runtime.Recv(c, make([]byte, 1), 0, 10)
	return err
}

// worldsTotal returns how many Worlds of a kind a test makes, and how many Worlds it makes
// between two checks that the garbage collector has freed them.
func worldsTotal() (total, once int) {
	if testing.Short() {
		return 4, 2
	}
	return 200, 40
}

// TestWorldsLeaveNothing checks that a World frees its memory, goroutines, descriptors and
// mappings, however it ends.
func TestWorldsLeaveNothing(t *testing.T) {
	total, once := worldsTotal()
	for _, way := range []string{"shm", "rdma"} {
		for name, program := range worldPrograms {
			t.Run(way+", "+name, func(t *testing.T) {
				t.Setenv("GORUN_TRANSPORT", way)
				live := func(n int) {
					var all []weak.Pointer[runtime.World]
					var mu sync.Mutex
					for range n {
						err := runtime.Local(worldRanks, func(w *runtime.World) error {
							mu.Lock()
							all = append(all, weak.Make(w))
							mu.Unlock()
							return program.run(w)
						})
						require.ErrorIs(t, err, program.want)
					}
					collected(t, all)
				}
				live(once) // makes, before the first measurement, the objects that exist once per process
				before := holdings(t)
				for range total/once - 1 {
					live(once)
				}
				before.unchanged(t)
			})
		}
	}
}
