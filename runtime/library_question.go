package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// AnswerMax is the maximum length of an answer in bytes.
const AnswerMax = 240

// ErrNoAnswer is the error of an Inquire if the member did not answer in time or had no answer.
var ErrNoAnswer = errors.New("no answer")

// Answerer is implemented by attributes of a communicator that answer the questions which
// other members ask with Comm.Inquire.
type Answerer interface {
	// Answer returns information on a subject, at most AnswerMax bytes, or nil if it has none.
	// Answer is called on a goroutine that the runtime starts, and must not communicate.
	Answer(subject uint64) []byte
}

// Describer is implemented by attributes of a communicator that describe the rank's current
// operation for the report of a job that hangs. Doing returns a text such as "barrier, call 3, at
// main.go:12", or "" if there is no operation. Doing is called on a goroutine of the runtime.
type Describer interface{ Doing() string }

// Explainer is implemented by attributes of World.Comm that add lines to the text which a rank
// prints in World.Close with GORUN_EXPLAIN=1.
type Explainer interface{ Explain() []string }

// Inquire asks another member about a subject. At the asked member, the runtime calls the Answerers
// among the attributes of the communicator in turn. Inquire returns the first answer that is not empty.
// The program of the asked member need not make a call. Inquire is meant for describing errors, not for
// moving data, and also works on a broken communicator. If no such answer arrives, the error is ErrNoAnswer.
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
	if err := w.engine.Await(ctx, q.answered.Load, inquiryWait); err != nil || len(q.text) == 0 {
		return nil, fmt.Errorf("%w: rank %d of communicator %s", ErrNoAnswer, rank, c.core.name)
	}
	return q.text, nil
}

// inquiryWait names the wait for an answer in diagnosis and errors.
const inquiryWait = "answer"

// AwaitedRanks lists the members from which blocking calls wait to receive at this moment. It leaves
// out receives from AnySource. If c is a Private view, AwaitedRanks covers the calls on all Private views
// of the communicator; otherwise it covers the calls on all other views.
func (c *Comm) AwaitedRanks() []int {
	var ranks []int
	for _, o := range c.engine.Blocked() {
		if !o.Await && o.Context == c.id && o.Op == "receive" && o.Peer >= 0 {
			ranks = append(ranks, c.rankOf(o.Peer))
		}
	}
	return ranks
}

// Unreceived is a message that has arrived but has not been matched by a receive.
type Unreceived struct {
	Status
	// Label is the label of the message, or 0 if it was sent without a label.
	Label uint32
}

// Unreceived lists the messages that have arrived but have not been matched by a receive, in the
// order of their arrival. If c is a Private view, Unreceived lists the messages of all Private views
// of the communicator; otherwise it lists the messages of all other views.
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
