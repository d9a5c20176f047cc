package actors_test

import (
	"math"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// stops is a persistent actor that counts how often it has stopped.
type stops struct {
	count byte
	store *actors.Store
	saved chan error
}

func (a *stops) Snapshot() ([]byte, error)  { return []byte{a.count}, nil }
func (a *stops) Recover(state []byte) error { a.count = state[0]; return nil }

func (a *stops) Receive(c actor.Context) {
	if _, ok := c.Message().(*actor.Stopped); ok {
		a.count++
		a.saved <- a.store.Save(c)
	}
}

// TestSaveOfAStoppedActor checks that an actor can save while it handles actor.Stopped.
func TestSaveOfAStoppedActor(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s, store, saved := all[0], actors.NewStore(), make(chan error, 1)
		require.NoError(t, store.Open(s))
		require.NoError(t, actors.NewStore().Open(all[1]))
		for n := range byte(3) {
			a := &stops{store: store, saved: saved}
			pid, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor { return a }, store.Persist("stops")), "")
			require.NoError(t, err)
			require.NoError(t, s.Root.StopFuture(pid).Wait())
			require.NoError(t, next(t, saved))
			require.Equal(t, n+1, a.count)
		}
	})
}

// TestStoreThatIsNotOpen checks that a persistent actor fails if it starts before its Store is open.
func TestStoreThatIsNotOpen(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		failed := make(chan any, 1)
		guardian := actor.WithGuardian(actor.NewOneForOneStrategy(0, 0, func(reason any) actor.Directive {
			failed <- reason
			return actor.StopDirective
		}))
		_, err := all[0].Spawn(newAccount(actors.NewStore(), nil).Configure(guardian), "")
		require.NoError(t, err)
		require.ErrorIs(t, next(t, failed).(error), actors.ErrStoreNotOpen)
	})
}

// lingers is a persistent actor that saves when it gets a string. If goOn is not nil, its end waits until goOn is
// closed.
type lingers struct {
	stops
	stopped chan<- bool
	goOn    <-chan bool
}

func (a *lingers) Receive(c actor.Context) {
	switch c.Message().(type) {
	case string:
		a.saved <- a.store.Save(c)
	case *actor.Stopped:
		if a.goOn != nil {
			a.stopped <- true
			<-a.goOn
		}
	}
}

// TestSaveOfASuccessor checks that the end of a persistent actor does not end the claim of a later actor with the same
// name and key.
func TestSaveOfASuccessor(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s, store, saved := all[0], actors.NewStore(), make(chan error, 1)
		require.NoError(t, store.Open(s))
		require.NoError(t, actors.NewStore().Open(all[1]))
		stopped, goOn := make(chan bool, 1), make(chan bool)
		start := func(goOn <-chan bool) *actor.PID {
			a := &lingers{stops{store: store, saved: saved}, stopped, goOn}
			pid, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor { return a }, store.Persist("lingers")), "lingers")
			require.NoError(t, err)
			s.Root.Send(pid, "save")
			require.NoError(t, next(t, saved))
			return pid
		}
		ended := s.Root.StopFuture(start(goOn))
		next(t, stopped)
		pid := start(nil)
		close(goOn)
		require.NoError(t, ended.Wait())
		s.Root.Send(pid, "save")
		require.NoError(t, next(t, saved))
	})
}

// TestClaimThatNoRankMakes checks that a persistent actor fails if a rank answers that the actor's key has a claim with
// the largest number. The actor must not repeat its claim for ever.
func TestClaimThatNoRankMakes(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		store, failed := actors.NewStore(), make(chan any, 1)
		require.NoError(t, store.Open(all[0]))
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if c.Sender() != nil {
				c.Respond(actors.Holding(math.MaxUint64))
			}
		}), actors.StoreID)
		require.NoError(t, err)
		guardian := actor.WithGuardian(actor.NewOneForOneStrategy(0, 0, func(reason any) actor.Directive {
			failed <- reason
			return actor.StopDirective
		}))
		_, err = all[0].Spawn(newAccount(store, nil).Configure(guardian), "")
		require.NoError(t, err)
		require.ErrorIs(t, next(t, failed).(error), actors.ErrAnswer)
	})
}
