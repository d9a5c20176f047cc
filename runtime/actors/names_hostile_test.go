package actors_test

import (
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// keptBy returns a name that, in a job of two ranks, the given rank keeps.
func keptBy(rank int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("a name of the test ", i); actors.Keeper(name, 2) == rank {
			return name
		}
	}
}

// TestAnswersThatAreNoNames checks a rank that answers a request about a name with an invalid
// message. The caller must get ErrAnswer.
func TestAnswersThatAreNoNames(t *testing.T) {
	name := keptBy(0)
	for what, answer := range map[string]any{
		"a text":               "rank:0/in",
		"a pointer":            &actor.Terminated{},
		"another name":         actors.NameAnswer(name+" of another", "rank:0", "in", false),
		"a rank of no one":     actors.NameAnswer(name, "rank:2", "in", false),
		"an address of no one": actors.NameAnswer(name, "rank:-1", "in", false),
		"no address":           actors.NameAnswer(name, "somewhere", "in", true),
	} {
		t.Run(what, func(t *testing.T) {
			_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
			require.NoError(t, all[0].Root.StopFuture(all[0].PID(0, actors.NamesID)).Wait())
			_, err := all[0].Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if c.Sender() != nil {
					c.Respond(answer)
				}
			}), actors.NamesID)
			require.NoError(t, err)
			pid, err := all[1].Spawn(idle(), "")
			require.NoError(t, err)

			_, err = all[1].LookupName(name)
			require.ErrorIs(t, err, actors.ErrAnswer)
			require.ErrorContains(t, err, "at rank 0")
			require.ErrorIs(t, all[1].RegisterName(name, pid), actors.ErrAnswer)
			require.ErrorIs(t, all[1].UnregisterName(name), actors.ErrAnswer)
		})
	}
}

// TestRequestsThatAreNoNames sends the names actor messages that are not valid requests. Each
// message must become a dead letter at once, and its request must end with ErrDeadLetter.
func TestRequestsThatAreNoNames(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	dead := letters(all[1])
	for _, m := range []any{
		"a text", 7, actor.NewPID("rank:0", "x"), actors.NameRequest(-1, "n", "rank:0", "x", 0), actors.NameRequest(actors.NameEnd, "n", "rank:0", "x", 0),
	} {
		_, err := all[0].Root.RequestFuture(all[0].PID(1, actors.NamesID), m, soon).Result()
		require.ErrorIs(t, err, actor.ErrDeadLetter)
		d := next(t, dead)
		require.ErrorIs(t, d, actors.ErrMessage)
		require.Equal(t, actors.NamesID, d.PID.Id)
		same(t, m, d.Message)
	}
	deadLetters, _ := all[1].Letters()
	require.EqualValues(t, 5, deadLetters)
	require.Empty(t, dead)
}

// nameMessages has the messages that the names actors of two ranks send each other.
var nameMessages = map[string]any{
	"request": actors.NameRequest(actors.NameFind, "name", "rank:0", "in", 1),
	"answer":  actors.NameAnswer("name", "rank:0", "in", true),
}

// TestTruncatedNames checks that every truncation of a message to the names actor is a dead letter,
// and that the actor continues.
func TestTruncatedNames(t *testing.T) {
	for what, m := range nameMessages {
		t.Run(what, func(t *testing.T) {
			w := newWire(t, actors.Config{})
			dead := letters(w.s)
			l := w.stream(t, actors.NamesID)
			kind, whole := w.numbers(t, l, m)
			for n := range whole {
				w.send(t, l, l.Number(), wireUser, 0, kind, whole[:n])
				require.Contains(t, next(t, dead).Error(), "malformed actor message")
			}
			_, rubbish := w.s.Letters()
			require.EqualValues(t, len(whole), rubbish)
			w.keepsNames(t)
		})
	}
}

// keepsNames checks that rank 1 still keeps names.
func (w *wire) keepsNames(tb testing.TB) {
	tb.Helper()
	name := keptBy(1)
	pid, err := w.s.Spawn(idle(), "")
	require.NoError(tb, err)
	require.NoError(tb, w.s.RegisterName(name, pid))
	found, err := w.s.LookupName(name)
	require.NoError(tb, err)
	require.True(tb, pid.Equal(found))
}

// FuzzNames sends arbitrary messages to the names actor: messages of the right type with unusual
// contents, and arbitrary bytes.
func FuzzNames(f *testing.F) {
	f.Add(uint8(0), 0, "name", "rank:1", "in", 1, []byte{})
	f.Add(uint8(0), 3, "name", "rank:0", "in", 0, []byte{})
	f.Add(uint8(0), 3, "name", "nonhost", "", -1, []byte{})
	f.Add(uint8(0), 4, "", "", "", 1<<31, []byte{})
	f.Add(uint8(0), -9, "name", "rank:7", actors.NamesID, 1, []byte{})
	f.Add(uint8(1), 1, "name", "rank:1", "in", 1, []byte{})
	for i, what := range []string{"request", "answer"} {
		_, _, body, err := actors.Travels(nameMessages[what])
		require.NoError(f, err)
		f.Add(uint8(2+i), 0, "", "", "", 0, body)
		f.Add(uint8(2+i), 0, "", "", "", 0, body[:len(body)-1])
	}
	f.Fuzz(func(t *testing.T, which uint8, what int, name, address, id string, keeper int, body []byte) {
		m := actors.NameRequest(what, name, address, id, keeper)
		if which%2 == 1 {
			m = actors.NameAnswer(name, address, id, what%2 == 1)
		}
		if name == keptBy(1) {
			return // keepsNames uses this name
		}
		w := newWire(t, actors.Config{})
		l := w.stream(t, actors.NamesID)
		kind, good := w.numbers(t, l, m)
		if which%4 < 2 {
			body = good
		}
		if len(body) <= 600 {
			w.send(t, l, l.Number(), wireUser, 0, kind, body)
		}
		w.keepsNames(t)
		require.NoError(t, w.e.Down(1))
	})
}
