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

// openRequestsFew is the number of open requests below which enter does not search for answered
// requests to remove.
const openRequestsFew = 64

// errEnded is the reason of a dead letter if the future of a request has ended during the send, for
// example because the rank was lost.
var errEnded = errors.New("the request has ended")

// openRequest is a request of a future of this rank to an actor of another rank.
type openRequest struct {
	rank   int    // the rank of the actor
	id     string // the id of the actor
	future *actor.PID
}

// openRequests holds the requests to other ranks that are possibly not answered yet. An answer removes its
// openRequest only if this openRequest is the last entry, because a search would cost too much. The other
// answered requests are removed by a check of all entries. The check takes place when the number of entries
// reaches openRequestsFew or, if that is more, twice the number of requests that were open at the last check.
//
// Only the goroutine that removes an open request may end it with a dead letter, so that the dead letter
// is published once.
type openRequests struct {
	mu   sync.Mutex
	all  []openRequest
	room int // when the field all has this length, answered requests are removed
}

// withdraw removes the openRequest of a message that was not sent, and returns err. If the
// openRequest has already been removed, because its future has ended, the error wraps errEnded.
func (s *System) withdraw(one openRequest, err error) error {
	if s.openRequests.take(one) {
		return err
	}
	// The sender may be an actor whose name looks like a future's. enter may have removed its openRequest
	// although the request has not ended.
	if process, _ := s.ProcessRegistry.GetLocal(one.future.Id); isActor(process) {
		return err
	}
	return fmt.Errorf("%w: %w", errEnded, cmp.Or(err, actor.ErrDeadLetter))
}

// enter adds an openRequest.
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

// answered removes the last openRequest and returns the PID of its future, if that future has this id.
// Otherwise it returns nil.
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

// take removes an openRequest. It searches from the end, because the entry is usually one of the
// last. It returns false if there is no such entry.
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

// open reports whether the future of an openRequest still waits for its answer.
func (s *System) open(one openRequest) bool {
	process, ok := s.ProcessRegistry.GetLocal(one.future.Id)
	return ok && !isActor(process)
}

// unanswered removes the requests for which vain returns true, because no answer to them can arrive.
// It ends the futures of these requests by dead letters. The argument why is the reason of these dead letters.
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
