package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// futurePrefix begins the ids of protoactor's futures.
const futurePrefix = "future$"

// questionsFew is how many questions are kept without a look at which are answered.
const questionsFew = 64

// errEnded says of a request that its future has ended by the loss of the rank, or
// otherwise, while the message was being sent.
var errEnded = errors.New("the request has ended")

// question is a request of a future of this rank to an actor of another one.
type question struct {
	rank   int
	id     string // of the actor
	future *actor.PID
}

// questions are those that were sent and may still be open. An answer takes out the
// last one alone, if it is its own, for to look for others would cost too much: when
// there are twice as many as were open at the last look, those whose future is gone are
// forgotten.
//
// Who takes an open question out answers it, and nobody else does: two answers at a
// time are a race within protoactor's Future.
type questions struct {
	mu   sync.Mutex
	all  []question
	room int
}

// asks reports whether a sender is a future of this rank.
func (s *System) asks(sender *actor.PID) bool {
	return sender != nil && strings.HasPrefix(sender.Id, futurePrefix) && sender.Address == s.Address()
}

// tellQuestion is tell for a request of a future. It is entered before it is sent, so
// that no loss of the rank after that is missed, and taken out again if it is not sent.
func (r *remote) tellQuestion(c *codec.Type, m any, h *codec.Head) (bool, error) {
	one := question{r.key.rank, r.key.id, h.Sender}
	r.s.enter(one)
	sent, err := r.tellAny(c, m, h)
	if !sent && !r.s.questions.take(one) && !r.s.namesake(one) {
		err = fmt.Errorf("%w: %w", errEnded, cmp.Or(err, actor.ErrDeadLetter))
	}
	return sent, err
}

// enter enters a question.
func (s *System) enter(one question) {
	q := &s.questions
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.all) >= q.room {
		q.all = slices.DeleteFunc(q.all, func(one question) bool { return !s.open(one) })
		q.room = max(questionsFew, 2*len(q.all))
	}
	q.all = append(q.all, one)
}

// answered takes out the last question, if it is of the future of that id, and returns
// the future's PID, else nil.
func (q *questions) answered(id []byte) *actor.PID {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.all) - 1
	if n < 0 || q.all[n].future.Id != string(id) {
		return nil
	}
	pid := q.all[n].future
	q.all[n] = question{}
	q.all = q.all[:n]
	return pid
}

// take takes a question out, one of the last. It returns false if it is not there.
func (q *questions) take(one question) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range slices.Backward(q.all) {
		if other == one {
			q.all = slices.Delete(q.all, i, i+1)
			return true
		}
	}
	return false
}

// open reports whether a question waits for its answer.
func (s *System) open(one question) bool {
	process, ok := s.ProcessRegistry.GetLocal(one.future.Id)
	return ok && !isActor(process)
}

// namesake reports whether who asks is an actor with the name of a future, which has no
// questions.
func (s *System) namesake(one question) bool {
	process, ok := s.ProcessRegistry.GetLocal(one.future.Id)
	return ok && isActor(process)
}

// unanswered makes dead letters of the questions that will not be answered, which end
// their futures.
func (s *System) unanswered(why error, vain func(one question) bool) {
	q := &s.questions
	var ended []question
	q.mu.Lock()
	q.all = slices.DeleteFunc(q.all, func(one question) bool {
		if vain(one) {
			ended = append(ended, one)
			return true
		}
		return false
	})
	q.mu.Unlock()
	for _, one := range ended {
		if s.open(one) {
			s.deadLetter(s.PID(one.rank, one.id), &actor.MessageEnvelope{Sender: one.future}, why)
		}
	}
}
