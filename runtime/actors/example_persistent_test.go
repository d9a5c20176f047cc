package actors_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// counter is a persistent actor.
type counter struct {
	store *actors.Store
	n     int
}

func (a *counter) Snapshot() ([]byte, error) { return []byte(strconv.Itoa(a.n)), nil }
func (a *counter) Recover(state []byte) (err error) {
	a.n, err = strconv.Atoi(string(state))
	return err
}

func (a *counter) Receive(c actor.Context) {
	if d, ok := c.Message().(int); ok {
		a.n += d
		if err := a.store.Save(c); err != nil {
			panic(err) // the actor restarts from its last snapshot
		}
		c.Respond(a.n) // only after the number was saved
	}
}

// A counter continues from its snapshot after it was stopped. Under gorun -on-failure respawn,
// the counter also continues in the next World, because the Store is made before Resume.
func ExampleStore_Persist() {
	err := runtime.Local(2, func(w *runtime.World) error {
		store := actors.NewStore()
		return w.Resume(func(w *runtime.World) error {
			s, err := actors.Of(w)
			if err != nil {
				return err
			}
			if err := store.Open(s); err != nil || w.Rank() > 0 {
				return err
			}
			props := actor.PropsFromProducer(func() actor.Actor { return &counter{store: store} }, store.Persist("counter"))
			for range 2 {
				pid, err := s.Spawn(props, "")
				if err != nil {
					return err
				}
				n, err := s.Root.RequestFuture(pid, 10, time.Minute).Result()
				if err != nil {
					return err
				}
				fmt.Println(n)
				if err := s.Root.StopFuture(pid).Wait(); err != nil {
					return err
				}
			}
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// 10
	// 20
	// <nil>
}
