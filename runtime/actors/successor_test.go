package actors_test

import (
	"errors"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// lingering returns the properties of an actor that answers requests like idle. When it handles Stopped, it sends a
// value to stopped and waits until goOn is closed. Meanwhile another actor can get its name.
func lingering(stopped chan<- bool, goOn <-chan bool) *actor.Props {
	return actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case int:
			c.Respond(m)
		case *actor.Stopped:
			stopped <- true
			<-goOn
		}
	})
}

// TestMessagesToASuccessor checks an actor or router that has got the name of an earlier actor while the earlier actor
// still handles Stopped. It must get the messages and watches of another rank, whose stream has led to the earlier
// actor. It must also get messages to a PID that was made before the earlier actor.
func TestMessagesToASuccessor(t *testing.T) {
	for name, succeed := range map[string]func(s *actors.System) error{
		"actor": func(s *actors.System) error {
			_, err := s.Spawn(idle(), "x")
			return err
		},
		"other mailbox": func(s *actors.System) error {
			_, err := s.Spawn(idle().Configure(actor.WithMailbox(actor.Unbounded())), "x")
			return err
		},
		"router": func(s *actors.System) error {
			to, err := s.Spawn(idle(), "")
			if err == nil {
				_, err = s.Route(actors.RoundRobin, "x", to)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			local(t, 2, actors.Config{}, func(all []*actors.System) {
				stopped, goOn := make(chan bool, 1), make(chan bool)
				s, far := all[0], all[1].PID(0, "x")
				near := s.PID(0, "x")
				pid, err := s.Spawn(lingering(stopped, goOn), "x")
				require.NoError(t, err)
				for range 2 { // near knows the mailbox after the first message
					ask(t, s, near, 1)
					ask(t, all[1], far, 1)
				}
				s.Root.Stop(pid)
				next(t, stopped)
				require.NoError(t, succeed(s))
				ask(t, s, near, 1)
				ask(t, all[1], far, 1)
				w, heard := watcher(t, all[1], "watcher")
				ask(t, all[1], w, far)
				ask(t, all[1], far, 1)
				close(goOn)
				require.Empty(t, heard)
				all[1].Root.Stop(far)
				require.True(t, far.Equal(next(t, heard).Who))
			})
		})
	}
}

// TestNameOfASuccessor checks a name that was registered for a later actor with the same PID. The end of the earlier
// actor must not remove the name. The end of the later actor must remove it.
func TestNameOfASuccessor(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		for _, kept := range []string{"a", "b"} {
			for _, n := range []string{kept, kept + " later"} { // the same name, or a new one
				stopped, goOn := make(chan bool, 1), make(chan bool)
				pid, err := s.Spawn(lingering(stopped, goOn), "x"+n)
				require.NoError(t, err)
				require.NoError(t, s.RegisterName(kept, pid))
				w, heard := watcher(t, s, "watcher"+n) // the last watcher gets its Terminated last
				ask(t, s, w, pid)
				s.Root.Stop(pid)
				next(t, stopped)
				pid, err = s.Spawn(idle(), "x"+n)
				require.NoError(t, err)
				require.NoError(t, s.RegisterName(n, pid))
				close(goOn)
				next(t, heard)
				_, err = s.LookupName(n)
				require.NoError(t, err)
				require.NoError(t, s.Root.StopFuture(pid).Wait())
				require.Eventually(t, func() bool {
					_, err := s.LookupName(n)
					return errors.Is(err, actors.ErrNoName)
				}, soon, soon/1000)
			}
		}
	})
}

// TestNameOfALaterActor checks that an actor that does not exist yet can get a name, whichever rank keeps the name.
func TestNameOfALaterActor(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		for _, n := range []string{"a", "b"} {
			require.NoError(t, all[0].RegisterName(n, all[0].PID(0, "later "+n)))
			_, err := all[0].LookupName(n)
			require.NoError(t, err)
			pid, err := all[0].Spawn(idle(), "later "+n)
			require.NoError(t, err)
			ask(t, all[0], pid, 1)
			_, err = all[0].LookupName(n)
			require.NoError(t, err)
		}
		require.NotEqual(t, actors.Keeper("a", 2), actors.Keeper("b", 2))
	})
}
