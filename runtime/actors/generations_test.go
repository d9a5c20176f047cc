package actors_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

func init() { programs["generations"] = generations }

// TestGenerations restarts a lost rank. It checks what the actors of the old generation are
// notified of, and that old PIDs reach no actor of the new generation.
func TestGenerations(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		t.Run(transport, func(t *testing.T) {
			r := launchProgram(t, 3, "generations", "-transport", transport, "-on-failure", "respawn")
			require.Zero(t, r.Code, r.Errors)
			for rank := range 3 {
				require.Contains(t, r.Out, fmt.Sprintf("rank %d is done in generation 1\n", rank), r.Errors)
			}
		})
	}
}

// TestGenerationsOnHosts makes the checks of TestGenerations in a job on several hosts. A whole host is
// lost, and its rank restarts on another host.
func TestGenerationsOnHosts(t *testing.T) {
	c := nscluster.Start(t, 4)
	r := launchProgram(t, 3, "generations", "-host", "h0,h1,h2,h3", "-rsh", c.Rsh(), "-on-failure", "respawn", "-x", envHostDies+"=1")
	require.Zero(t, r.Code, r.Errors)
	require.Contains(t, r.Errors, "host h1 is lost with rank 1: ")
	require.Contains(t, r.Errors, "; it is started again on h3 (1 of 3)")
	for rank := range 3 {
		require.Contains(t, r.Out, fmt.Sprintf("rank %d is done in generation 1\n", rank), r.Errors)
	}
}

// generations runs beforeLoss and afterLoss. The survivors run both, the restarted process runs
// only afterLoss.
func generations(w *runtime.World) error {
	// PIDs that were used in generation 0 and therefore have cached their Process.
	var old []*actor.PID
	return w.Resume(func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Generation() == 0 {
			old, err = beforeLoss(w, s)
			return err
		}
		if (w.Role() == runtime.Survivor) != (len(old) == w.Size()) {
			return fmt.Errorf("%v with %d PIDs of before", w.Role(), len(old))
		}
		// Also test PIDs that were made from text. They have the addresses of generation 0.
		for rank := range w.Size() {
			old = append(old, actor.NewPID(fmt.Sprint("rank:", rank), "actor"))
		}
		if err := afterLoss(w, s, old); err != nil {
			return err
		}
		fmt.Printf("rank %d is done in generation 1\n", w.Rank())
		return nil
	})
}

const died = 1

// beforeLoss returns the PIDs of the actors of all ranks. An actor must be notified of the death
// of another rank's actor although the rank of the notified actor makes no call of gorun.
func beforeLoss(w *runtime.World, s *actors.System) ([]*actor.PID, error) {
	var all []*actor.PID
	terminated := make(chan *actor.Terminated, 10)
	own, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.PID:
			c.Watch(m)
			c.Respond(true)
		case int:
			c.Respond(m)
		case *actor.Terminated:
			terminated <- m
		}
	}), "actor")
	if err != nil {
		return nil, err
	}
	for rank := range w.Size() {
		pid := s.PID(rank, "actor")
		if v, err := s.Root.RequestFuture(pid, rank, soon).Result(); err != nil || v != rank {
			return nil, fmt.Errorf("actor of rank %d: %v, %w", rank, v, err)
		}
		all = append(all, pid)
	}
	if w.Rank() == died {
		if err := s.RegisterName("service", own); err != nil {
			return nil, err
		}
	}
	if _, err := s.Root.RequestFuture(own, s.PID(died, "actor"), soon).Result(); err != nil && w.Rank() != died {
		return nil, err
	}
	if err := meet(w.Comm(), 0, 1, 2); err != nil {
		return nil, err
	}
	if pid, err := s.LookupName("service"); err != nil || !pid.Equal(s.PID(died, "actor")) {
		return nil, fmt.Errorf("name: %v, %w", pid, err)
	}
	// Die only after the other ranks have reported, by a message each, that their exchanges have ended.
	if w.Rank() == died {
		for _, rank := range []int{0, 2} {
			if _, err := runtime.Recv(w.Comm(), make([]byte, 1), rank, 8); err != nil {
				return nil, err
			}
		}
		killPlace()
	}
	if err := runtime.Send(w.Comm(), []byte{1}, died, 8); err != nil {
		return nil, err
	}
	select {
	case m := <-terminated:
		if m.Why != actor.TerminatedReason_AddressTerminated || !m.Who.Equal(all[died]) {
			panic(fmt.Sprintf("the watcher was told of %v", m))
		}
	case <-time.After(soon):
		panic("the watcher was not told")
	}
	_, err = runtime.Recv(w.Comm(), make([]byte, 1), died, 9)
	return all, err
}

// afterLoss checks that messages to PIDs of the old generation reach no actor of the new
// generation. Then the restarted rank registers the name again.
func afterLoss(w *runtime.World, s *actors.System, old []*actor.PID) error {
	got := make(chan any, 100)
	dead := letters(s)
	own, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case string, *actor.Terminated:
			got <- m
		case *actor.PID:
			c.Watch(m)
		case int:
			c.Respond(m)
		}
	}), "actor")
	if err != nil {
		return err
	}
	if err := meet(w.Comm(), 0, 1, 2); err != nil {
		return err
	}
	if _, err := s.LookupName("service"); !errors.Is(err, actors.ErrNoName) {
		return fmt.Errorf("the name of before: %w", err)
	}
	for i, pid := range old {
		if _, err := s.Root.RequestFuture(pid, i, soon).Result(); !errors.Is(err, actor.ErrDeadLetter) {
			return fmt.Errorf("request to %v of before: %w", pid, err)
		}
		s.Root.Send(pid, "of before")
		for _, message := range []any{i, "of before"} {
			if d := <-dead; d.Message != message || !errors.Is(d, actors.ErrStale) || d.PID.Address != strings.TrimSuffix(s.PID(i%3, "actor").Address, "@1") {
				return fmt.Errorf("not the dead letter of %v: %w", message, d)
			}
		}
		s.Root.Send(own, pid)
		if m, ok := (<-got).(*actor.Terminated); !ok || m.Why != actor.TerminatedReason_AddressTerminated || !m.Who.Equal(pid) {
			return fmt.Errorf("watch of %v of before: %v", pid, m)
		}
	}
	if err := meet(w.Comm(), 0, 1, 2); err != nil {
		return err
	}
	if w.Rank() == died {
		if err := s.RegisterName("service", own); err != nil {
			return err
		}
	}
	if err := meet(w.Comm(), 0, 1, 2); err != nil {
		return err
	}
	pid, err := s.LookupName("service")
	if err != nil || pid.Address != "rank:1@1" {
		return fmt.Errorf("the name of now: %v, %w", pid, err)
	}
	if v, err := s.Root.RequestFuture(pid, 5, soon).Result(); err != nil || v != 5 {
		return fmt.Errorf("the actor of now: %v, %w", v, err)
	}
	if err := meet(w.Comm(), 0, 1, 2); err != nil {
		return err
	}
	if len(got) > 0 || len(dead) > 0 {
		return fmt.Errorf("%d messages, %d dead letters more", len(got), len(dead))
	}
	return nil
}
