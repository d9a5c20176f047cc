package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// AnswerMax is how many bytes an answer has at most.
const AnswerMax = 240

// ErrNoAnswer says that a member did not answer in time, or had no answer.
var ErrNoAnswer = errors.New("no answer")

// Answerer is implemented by attributes of a communicator that answer questions of other
// members, see Comm.Inquire.
type Answerer interface {
	// Answer returns information on a subject, at most AnswerMax bytes, or nil. It is
	// called on a goroutine of its own and must not communicate.
	Answer(subject uint64) []byte
}

// Describer is implemented by attributes of a communicator that describe the rank's current
// operation, for the report of a job that hangs: "barrier, call 3, at main.go:12", or
// nothing. It is called on a goroutine of its own.
type Describer interface{ Doing() string }

// Explainer is implemented by attributes of World.Comm that add lines to what GORUN_EXPLAIN
// prints at the end of a run.
type Explainer interface{ Explain() []string }

// Inquire asks another member, which need not make a call, and returns the answer of the
// first of its attributes of this communicator that has one. It is for errors, not for
// data: it also works on a communicator that is broken. The error is ErrNoAnswer.
func (c *Comm) Inquire(rank int, subject uint64) ([]byte, error) {
	if err := c.checkPeer(rank); err != nil {
		return nil, err
	}
	w := c.core.world
	q := &inquiry{}
	id := w.inquiries.add(q)
	defer w.inquiries.remove(id)
	ctx, cancel := context.WithTimeout(context.Background(), inquiryTime)
	defer cancel()
	w.engine.Notify(c.WorldRank(rank), int(c.core.number), question{id, subject}.append(nil))
	if err := w.engine.Await(ctx, q.answered.Load, 0, inquiryWait); err != nil || len(q.text) == 0 {
		return nil, fmt.Errorf("%w: rank %d of communicator %s", ErrNoAnswer, rank, c.core.name)
	}
	return q.text, nil
}

// inquiryWait is how the wait for an answer appears in diagnosis and errors.
const inquiryWait = "answer"

// AwaitedRanks lists the members that blocking calls of this view and of others of the
// same kind, Private or not, wait for at this moment in order to receive.
func (c *Comm) AwaitedRanks() []int {
	var ranks []int
	for _, o := range c.engine.Blocked() {
		if !o.Await && o.Context == c.id && o.Op == "receive" && o.Peer >= 0 {
			ranks = append(ranks, c.rankOf(o.Peer))
		}
	}
	return ranks
}

// Unreceived is a message that has arrived and that no receive has matched.
type Unreceived struct {
	Status
	// Label is that of a SendLabeled, or 0.
	Label uint32
}

// Unreceived lists the messages of this view and of others of the same kind, Private or
// not, that have arrived and that no receive has matched, in the order of their arrival.
func (c *Comm) Unreceived() []Unreceived {
	var list []Unreceived
	for _, u := range c.engine.Unreceived() {
		if u.Context != c.id {
			continue
		}
		left := Unreceived{Status: Status{Source: c.rankOf(u.Source), Tag: u.Tag, Bytes: u.Bytes, size: 1}}
		if u.Type >= engine.TypeLabel {
			left.Label = uint32(u.Type - engine.TypeLabel)
		}
		list = append(list, left)
	}
	return list
}
