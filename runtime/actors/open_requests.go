package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// futurePrefix begins the ids of protoactor's futures.
const futurePrefix = "future$"

// openRequestsFew is the number of openRequests up to which answered ones are not removed.
const openRequestsFew = 64

// errEnded says that the future of a request has ended while the message was being sent, for
// example by the loss of the rank.
var errEnded = errors.New("the request has ended")

// openRequest is a request of a future of this rank to an actor of another one.
type openRequest struct {
	rank   int
	id     string // of the actor
	future *actor.PID
}

// openRequests are the requests that were sent and may still be open. An answer removes its
// request only if that is the last one, because a search would cost too much. When there are
// twice as many as were open at the last check, those that are answered are removed.
//
// Only the goroutine that removes an open request answers it, so that its dead letter is published
// once.
type openRequests struct {
	mu   sync.Mutex
	all  []openRequest
	room int
}

// withdraw takes out an openRequest that was not sent. If its future has ended meanwhile, the
// error says so.
func (s *System) withdraw(one openRequest, err error) error {
	if s.openRequests.take(one) || s.isActorNamed(one) {
		return err
	}
	return fmt.Errorf("%w: %w", errEnded, cmp.Or(err, actor.ErrDeadLetter))
}

// enter enters an openRequest.
func (s *System) enter(one openRequest) {
	q := &s.openRequests
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.all) >= q.room {
		q.all = slices.DeleteFunc(q.all, func(one openRequest) bool { return !s.open(one) })
		q.room = max(openRequestsFew, 2*len(q.all))
	}
	q.all = append(q.all, one)
}

// answered takes out the last openRequest, if it is of the future of that id, and returns
// the future's PID, else nil.
func (q *openRequests) answered(id []byte) *actor.PID {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.all) - 1
	if n < 0 || q.all[n].future.Id != string(id) {
		return nil
	}
	pid := q.all[n].future
	q.all[n] = openRequest{}
	q.all = q.all[:n]
	return pid
}

// take removes an openRequest, which is one of the last. It returns false if it is not there.
func (q *openRequests) take(one openRequest) bool {
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

// open reports whether an openRequest waits for its answer.
func (s *System) open(one openRequest) bool {
	process, ok := s.ProcessRegistry.GetLocal(one.future.Id)
	return ok && !isActor(process)
}

// isActorNamed reports whether the sender is an actor that has the name of a future. It has no
// openRequests.
func (s *System) isActorNamed(one openRequest) bool {
	process, ok := s.ProcessRegistry.GetLocal(one.future.Id)
	return ok && isActor(process)
}

// unanswered ends the futures of requests that will not be answered, by dead letters.
func (s *System) unanswered(why error, vain func(one openRequest) bool) {
	q := &s.openRequests
	var ended []openRequest
	q.mu.Lock()
	q.all = slices.DeleteFunc(q.all, func(one openRequest) bool {
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
