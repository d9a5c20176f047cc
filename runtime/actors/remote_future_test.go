package actors_test

import (
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestAnswersFindTheirFutures opens more requests of two ranks than the cache of their futures
// (remoteFutures) can hold. Each request must get its own answer, in whatever order the answers are
// sent. An answer must also arrive if it is sent to a copy of the future's PID.
func TestAnswersFindTheirFutures(t *testing.T) {
	const each = 150
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		type request struct {
			from   *actor.PID
			number int
		}
		var waiting []request
		_, err := all[2].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			n, ok := c.Message().(int)
			if !ok {
				return
			}
			waiting = append(waiting, request{c.Sender(), n})
			if len(waiting) < 2*each {
				return
			}
			for i := len(waiting) - 1; i >= 0; i-- {
				to := waiting[i].from
				if i%3 == 0 {
					to = actor.NewPID(to.Address, to.Id)
				}
				c.Send(to, waiting[i].number)
			}
		}), "late")
		require.NoError(t, err)
		var futures [2][each]*actor.Future
		for i := range each {
			for rank := range futures {
				futures[rank][i] = all[rank].Root.RequestFuture(all[rank].PID(2, "late"), 2*i+rank, soon)
			}
		}
		for rank := range futures {
			for i, f := range futures[rank] {
				answer, err := f.Result()
				require.NoError(t, err)
				require.Equal(t, 2*i+rank, answer)
			}
		}
	})
}

// TestNamesOfFutures checks that an actor whose name begins like that of a future gets messages
// under this name. Messages to a future that does not exist must be dead letters.
func TestNamesOfFutures(t *testing.T) {
	for name, mode := range modes {
		local(t, 2, actors.Config{}, func(all []*actors.System) {
			c := inbox(t, all[1], "future$mine", mode(all[1]))
			dead := letters(all[1])
			for i := range 3 {
				all[0].Root.Send(all[0].PID(1, "future$mine"), i)
				require.Equal(t, i, next(t, c), name)
				all[0].Root.Send(all[0].PID(1, "future$unknown"), fmt.Sprint("lost ", i))
				require.Equal(t, fmt.Sprint("lost ", i), next(t, dead).Message, name)
			}
		})
	}
}
