package actors_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// logged stores a log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// await returns the first line that contains a text.
func (l *logged) await(t *testing.T, text string) (line string) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for s := range strings.Lines(l.text.String()) {
			if strings.Contains(s, text) {
				line = s
				return true
			}
		}
		return false
	}, soon, time.Millisecond, text)
	return line
}

// TestMistakesAreLogged checks that a message of an unregistered type and a panic of an actor are logged.
func TestMistakesAreLogged(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			log := &logged{}
			local(t, 2, actors.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}, func(all []*actors.System) {
				s := all[0]
				_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if m, ok := c.Message().(string); ok && m == "fail" {
						var none *plain
						none.A++
					} else if ok {
						c.Respond(m)
					}
				}, mode(all[1])), "in")
				require.NoError(t, err)
				s.Root.Send(s.PID(1, "in"), struct{ C chan int }{})
				line := log.await(t, "dead letter to rank:1/in")
				require.Contains(t, line, "level=WARN")
				require.Contains(t, line, "actors.RegisterType: struct { C chan int }")
				require.Contains(t, line, "rank=0 sender=none")

				s.Root.Request(s.PID(1, "in"), "fail")
				line = log.await(t, "actor rank:1/in failed handling string")
				require.Contains(t, line, "level=ERROR")
				require.Contains(t, line, "nil pointer dereference")
				require.Regexp(t, `rank=1 at="report_test.go:\d+ \(actors_test.TestMistakesAreLogged`, line)
				require.Equal(t, "lives", call(t, s, s.PID(1, "in"), "lives"))

				// A message to an actor that has ended is not a mistake.
				require.NoError(t, s.Root.StopFuture(s.PID(1, "in")).Wait())
				s.Root.Send(s.PID(1, "in"), "too late")
				require.Contains(t, log.await(t, "the actor has stopped"), "level=INFO")
			})
		})
	}
}

// call sends a request to an actor and returns the answer.
func call(t *testing.T, s *actors.System, pid *actor.PID, m any) any {
	t.Helper()
	v, err := s.Root.RequestFuture(pid, m, soon).Result()
	require.NoError(t, err)
	return v
}

// TestAnswersThatCannotTravel checks that a request whose answer cannot be sent ends with
// ErrDeadLetter, and that the actor continues.
func TestAnswersThatCannotTravel(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case int:
				c.Respond(struct{ C chan int }{})
			case string:
				c.Respond(m)
			}
		}), "in")
		require.NoError(t, err)
		_, err = s.Root.RequestFuture(s.PID(1, "in"), 1, soon).Result()
		require.ErrorIs(t, err, actor.ErrDeadLetter)
		require.Equal(t, "else", call(t, s, s.PID(1, "in"), "else"))
	})
}

// TestSpawnTwice checks that a name can be used only once, and that the error contains the name.
func TestSpawnTwice(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		inbox(t, all[0], "in", all[0].Worker())
		pid, err := all[0].Spawn(actor.PropsFromFunc(func(actor.Context) {}), "in")
		require.ErrorIs(t, err, actor.ErrNameExists)
		require.ErrorContains(t, err, `"in"`)
		require.True(t, pid.Equal(all[0].PID(0, "in")))
	})
}
