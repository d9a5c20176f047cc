package runtime

import (
	"encoding/binary"
	"errors"
	goruntime "runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// Subjects of questions to oracle. An answer to subjectHard is delayed until the test allows it.
const (
	subjectHard = 1
	subjectEasy = 2
)

// oracle is an Answerer.
type oracle struct {
	let  chan struct{}
	hard atomic.Int32 // number of calls with subjectHard
}

func (o *oracle) Answer(subject uint64) []byte {
	if subject == subjectHard {
		o.hard.Add(1)
		<-o.let
	}
	return binary.LittleEndian.AppendUint64(nil, subject)
}

// If a rank sends questions faster than they are answered, the asked rank discards excess
// questions, and does not start a goroutine for each of them. It still answers other ranks. Later
// it also answers new questions of the first rank.
func TestQuestionsWithoutEnd(t *testing.T) {
	const asked = 1000
	everywhere(t, 3, func(w *World) error {
		c := w.Comm()
		easy := func() {
			text, err := c.Inquire(0, subjectEasy)
			require.NoError(t, err)
			require.EqualValues(t, subjectEasy, binary.LittleEndian.Uint64(text))
		}
		o := &oracle{let: make(chan struct{})}
		if w.Rank() == 0 {
			_, err := c.Attribute(subjectHard, func() (any, error) { return o, nil })
			require.NoError(t, err)
		}
		require.NoError(t, meet(w))
		before := goruntime.NumGoroutine()
		require.NoError(t, meet(w))
		if w.Rank() == 1 {
			h := transport.Header{A: frameNotice}
			for id := range uint32(asked) {
				for err := transport.ErrAgain; errors.Is(err, transport.ErrAgain); {
					err = forge(w, 0, h, question{id, subjectHard}.append(nil))
				}
			}
		}
		require.NoError(t, meet(w)) // when rank 0 arrives here, it has received all questions
		if w.Rank() == 0 {
			require.Less(t, goruntime.NumGoroutine(), before+asked/10)
		}
		if w.Rank() == 2 {
			easy()
		}
		require.NoError(t, meet(w))
		close(o.let)
		for left := 1; left > 0; goruntime.Gosched() {
			w.questions.mu.Lock()
			left = len(w.questions.waiting)
			w.questions.mu.Unlock()
		}
		if w.Rank() == 0 {
			require.Contains(t, []int32{questionsMax, questionsMax + 1}, o.hard.Load())
		}
		require.NoError(t, meet(w))
		if w.Rank() != 0 {
			easy()
		}
		return meet(w)
	})
}
