package program

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// receiver receives the messages of one class of a plan at one rank.
type receiver struct {
	comm   *runtime.Comm
	class  class
	random *rand.Rand
	lost   *losses
	// due has the messages that were not received yet, in the order of the plan.
	due     []*parcel
	longest int
	late    bool       // run begins late, when many messages have arrived
	open    []incoming // oldest first
	bereft  bool       // a rank was lost
	// posted counts the receives under way by pattern.
	posted map[pattern]int
}

// pattern is the source and the tag that a receive matches, each of which may be a wildcard.
type pattern struct{ source, tag int }

// incoming is a nonblocking receive that is under way.
type incoming struct {
	request runtime.Request
	pattern pattern
	payload []byte
}

// pattern returns the pattern of a receive for a message.
func (r *receiver) pattern(m *parcel) pattern {
	p := pattern{m.from, m.tag}
	if r.class == tagged || r.class == wild {
		p.source = runtime.AnySource
	}
	if r.class == sourced || r.class == wild {
		p.tag = runtime.AnyTag
	}
	return p
}

// matches reports whether a receive with the pattern matches a message.
func (p pattern) matches(m *parcel) bool {
	return (p.source == runtime.AnySource || p.source == m.from) && (p.tag == runtime.AnyTag || p.tag == m.tag)
}

// run receives all messages. While run waits for a message, a receive for the first message in due is posted. So a
// sender that waits until that message is received does not wait forever.
func (r *receiver) run() error {
	if r.late {
		// During this virtual time, many messages arrive before the first receive begins. The time differs
		// from class to class, because Go wakes goroutines with the same time in random order.
		time.Sleep(time.Second + time.Duration(r.class))
	}
	for m := r.next(); m != nil || len(r.open) > 0; m = r.next() {
		if simulate.Chance(r.random, 0.1) {
			time.Sleep(simulate.Within(r.random, 10*time.Millisecond)) // virtual time
		}
		var err error
		switch blocking := simulate.Chance(r.random, 0.6); {
		case m == nil, len(r.open) > r.window(), len(r.open) > 0 && (blocking || r.open[0].pattern != r.pattern(m)):
			err = r.finish()
		case blocking || r.lost.mortal:
			err = r.receive(r.pattern(m))
		default:
			r.post(r.pattern(m))
		}
		if err := r.forgive(err); err != nil {
			return fmt.Errorf("receive for %v: %w", m, err)
		}
	}
	return nil
}

// window draws the number of receives that may remain under way.
func (r *receiver) window() int { return r.random.IntN(windowMax) }

// next returns the first message in due for which no receive is under way, or nil if there is no such
// message.
func (r *receiver) next() *parcel {
	covered := map[pattern]int{}
	for _, m := range r.due {
		if r.bereft && m.from == r.lost.rank {
			continue
		}
		p := r.pattern(m)
		if covered[p]++; covered[p] > r.posted[p] {
			return m
		}
	}
	return nil
}

// forgive returns nil if the error of a receive is the expected loss of a rank, otherwise the error. After
// the loss, run no longer waits for messages of that rank. Messages that have arrived may still be received.
func (r *receiver) forgive(err error) error {
	if err == nil {
		return nil
	}
	r.bereft = true
	if r.class == tagged || r.class == wild || r.class == mixed {
		// Ack lets receives from AnySource go on. Class named must not call Ack, because it shares a
		// communicator with class tagged. After an Ack, receives from AnySource in class tagged would no
		// longer report the loss.
		r.comm.Ack()
	}
	return r.lost.unexpected(err)
}

// loosen returns the pattern that is passed to a receive: in class mixed, with random wildcards.
func (r *receiver) loosen(p pattern) pattern {
	if r.class == mixed && simulate.Chance(r.random, 0.5) {
		p.source = runtime.AnySource
	}
	if r.class == mixed && simulate.Chance(r.random, 0.5) {
		p.tag = runtime.AnyTag
	}
	return p
}

// receive receives one message by a blocking operation that it chooses at random.
func (r *receiver) receive(p pattern) error {
	p = r.loosen(p)
	room := make([]byte, r.longest+1)
	switch r.random.IntN(6) {
	case 0:
		return r.message(p)
	case 1:
		return r.matched(p, room)
	case 2:
		return r.probed(p, room)
	case 3:
		return r.impatient(p, room)
	case 4:
		return r.canceled(p, room)
	default:
		return r.took(p, room)(runtime.Recv(r.comm, room, p.source, p.tag))
	}
}

// post posts a nonblocking receive. run does not call it in a job in which a rank may die, because the
// loss would end all receives from AnySource.
func (r *receiver) post(p pattern) {
	room := make([]byte, r.longest+1)
	r.posted[p]++
	ask := r.loosen(p)
	r.open = append(r.open, incoming{runtime.Irecv(r.comm, room, ask.source, ask.tag), p, room})
}

// took returns a function that checks the result of a receive into room.
func (r *receiver) took(p pattern, room []byte) func(runtime.Status, error) error {
	return func(s runtime.Status, err error) error {
		if err != nil {
			return err
		}
		return r.check(p, s, room[:s.Bytes])
	}
}

// check finds the message in due that must have been received, compares the message with the payload, and
// removes the message from due. Some messages of a lost rank may be missing. These were sent by rendezvous,
// and their payload had not moved yet.
func (r *receiver) check(p pattern, s runtime.Status, payload []byte) error {
	for i, m := range r.due {
		if m.from != s.Source || !p.matches(m) {
			continue
		}
		err := m.check(payload)
		if s.Tag != m.tag {
			err = fmt.Errorf("a message of rank %d with tag %d came before %v", s.Source, s.Tag, m)
		}
		if err == nil {
			r.due = append(r.due[:i:i], r.due[i+1:]...)
			return nil
		}
		if !r.lost.mortal || m.from != r.lost.rank {
			return err
		}
	}
	return fmt.Errorf("a message of rank %d with tag %d and %d bytes is one too many", s.Source, s.Tag, s.Bytes)
}

// finish waits for the oldest receive under way and checks its result. It takes the oldest receive, because
// messages match receives in the order in which the receives were posted.
func (r *receiver) finish() error {
	o := r.open[0]
	r.open = r.open[1:]
	r.posted[o.pattern]--
	for !simulate.Chance(r.random, 0.5) {
		if o.request.Done() {
			break
		}
	}
	return r.took(o.pattern, o.payload)(o.request.Wait())
}

// message receives with RecvMessage, which provides the memory.
func (r *receiver) message(p pattern) error {
	m, err := runtime.RecvMessage(r.comm, p.source, p.tag)
	if err != nil {
		return err
	}
	defer m.Close()
	return r.check(p, m.Status, m.Bytes())
}

// matched receives with a matched probe.
func (r *receiver) matched(p pattern, room []byte) error {
	m, err := runtime.Mprobe(r.comm, p.source, p.tag)
	if err != nil {
		return err
	}
	s, err := runtime.RecvMatched(m, room)
	if err == nil && s != m.Status() {
		err = fmt.Errorf("the probe says %+v, the receive %+v", m.Status(), s)
	}
	return r.took(p, room)(s, err)
}

// probed probes for the message, with a blocking probe or by polling, and then receives the message.
func (r *receiver) probed(p pattern, room []byte) error {
	var s runtime.Status
	var err error
	if simulate.Chance(r.random, 0.5) {
		s, err = runtime.Probe(r.comm, p.source, p.tag)
	} else {
		found := false
		for try := 0; !found && err == nil; try++ {
			pause(try)
			s, found, err = runtime.Iprobe(r.comm, p.source, p.tag)
		}
	}
	if err != nil {
		return err
	}
	// This receive matches the probed message, because no other goroutine receives in this class.
	got, err := runtime.Recv(r.comm, room[:s.Bytes], s.Source, s.Tag)
	if err == nil && got != s {
		err = fmt.Errorf("the probe says %+v, the receive %+v", s, got)
	}
	return r.took(p, room)(got, err)
}

// impatient receives with a context that may end before the message arrives. If the timeout comes first,
// impatient receives again without it.
func (r *receiver) impatient(p pattern, room []byte) error {
	ctx, cancel := context.WithTimeout(r.comm.Context(), simulate.Within(r.random, 5*time.Millisecond))
	defer cancel()
	s, err := runtime.Recv(r.comm.WithContext(ctx), room, p.source, p.tag)
	if errors.Is(err, context.DeadlineExceeded) {
		s, err = runtime.Recv(r.comm, room, p.source, p.tag)
	}
	return r.took(p, room)(s, err)
}

// canceled posts a receive and cancels it. If the cancel was in time, it receives again.
func (r *receiver) canceled(p pattern, room []byte) error {
	request := runtime.Irecv(r.comm, room, p.source, p.tag)
	if simulate.Chance(r.random, 0.5) {
		time.Sleep(simulate.Within(r.random, time.Millisecond)) // virtual time
	}
	request.Cancel()
	s, err := request.Wait()
	if errors.Is(err, runtime.ErrCanceled) {
		s, err = runtime.Recv(r.comm, room, p.source, p.tag)
	}
	return r.took(p, room)(s, err)
}
