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

// sender sends the messages of a rank in a plan, in order.
type sender struct {
	world  *runtime.World
	comms  []*runtime.Comm // by class
	random *rand.Rand
	lost   *losses
	// hasty makes the sender use mostly nonblocking sends, and leave many of them under way.
	hasty bool
	// open has the nonblocking sends that are under way, with their messages.
	open []outgoing
}

// outgoing is a send that is under way.
type outgoing struct {
	request runtime.Request
	parcel  *parcel
	payload []byte
}

// windowMax bounds the number of nonblocking operations that remain under way, except at a hasty sender.
const windowMax = 8

// run sends all messages of the list.
func (s *sender) run(list []*parcel) error {
	for _, m := range list {
		if simulate.Chance(s.random, 0.1) {
			time.Sleep(simulate.Within(s.random, 10*time.Millisecond)) // virtual time
		}
		if err := s.lost.unexpected(s.send(m)); err != nil {
			return fmt.Errorf("send of %v: %w", m, err)
		}
		for len(s.open) > s.random.IntN(s.window()) {
			if err := s.lost.unexpected(s.finish()); err != nil {
				return err
			}
		}
	}
	for len(s.open) > 0 {
		if err := s.lost.unexpected(s.finish()); err != nil {
			return err
		}
	}
	return nil
}

// window returns an exclusive upper bound of the number of sends that may remain under way.
func (s *sender) window() int {
	if s.hasty {
		return 10 * windowMax
	}
	return windowMax
}

// send sends one message in one of nine ways, chosen at random. A hasty sender uses only three of them.
func (s *sender) send(m *parcel) error {
	c, b := s.comms[m.class], m.fill(make([]byte, m.size))
	how := s.random.IntN(9)
	if s.hasty {
		how = simulate.Pick(s.random, 5, 6, 8, 8)
	}
	switch how {
	case 0:
		return runtime.Send(c, b, m.to, m.tag)
	case 1:
		return runtime.Ssend(c, b, m.to, m.tag)
	case 2:
		return s.buffer(c, m, b)
	case 3:
		return s.strided(c, m, b)
	case 4:
		return s.impatient(c, m, b)
	case 5:
		return s.canceled(c, m, b)
	case 6:
		s.open = append(s.open, outgoing{runtime.Issend(c, b, m.to, m.tag), m, b})
	case 7:
		p := runtime.SendInit(c, b, m.to, m.tag)
		defer p.Close()
		if err := p.Start(); err != nil {
			return err
		}
		_, err := p.Wait()
		return err
	default:
		s.open = append(s.open, outgoing{runtime.Isend(c, b, m.to, m.tag), m, b})
	}
	return nil
}

// buffer sends the message with SendBuffer, which takes the ownership of its memory.
func (s *sender) buffer(c *runtime.Comm, m *parcel, b []byte) error {
	given, err := runtime.Alloc[byte](s.world, m.size)
	if err != nil {
		return err
	}
	copy(given.Bytes(), b)
	return runtime.SendBuffer[byte](c, given, m.to, m.tag)
}

// strided sends the message as every second byte of memory that is twice as long.
func (s *sender) strided(c *runtime.Comm, m *parcel, b []byte) error {
	apart := make([]byte, 2*len(b))
	for i := range b {
		apart[2*i] = b[i]
	}
	return runtime.SendStrided(c, apart, runtime.Strided{Count: len(b), Block: 1, Stride: 2}, m.to, m.tag)
}

// impatient sends with a context that may end before the send completes. If the timeout comes first, impatient
// sends again without it.
func (s *sender) impatient(c *runtime.Comm, m *parcel, b []byte) error {
	ctx, cancel := context.WithTimeout(c.Context(), simulate.Within(s.random, 5*time.Millisecond))
	defer cancel()
	err := runtime.Ssend(c.WithContext(ctx), b, m.to, m.tag)
	if errors.Is(err, context.DeadlineExceeded) {
		clear(b) // the send has ended, so the runtime must not read b any more
		err = runtime.Send(c, m.fill(b), m.to, m.tag)
	}
	return err
}

// canceled posts a send and cancels it. If the cancel was in time, it sends again.
func (s *sender) canceled(c *runtime.Comm, m *parcel, b []byte) error {
	start := simulate.Pick(s.random, runtime.Isend[byte], runtime.Issend[byte])
	r := start(c, b, m.to, m.tag)
	if simulate.Chance(s.random, 0.5) {
		time.Sleep(simulate.Within(s.random, time.Millisecond)) // virtual time
	}
	r.Cancel()
	_, err := r.Wait()
	if errors.Is(err, runtime.ErrCanceled) {
		clear(b)
		err = runtime.Send(c, m.fill(b), m.to, m.tag)
	}
	return err
}

// finish waits for one of the sends under way, and checks that its payload is unchanged.
func (s *sender) finish() error {
	i := 0
	var err error
	switch s.random.IntN(3) {
	case 0:
		_, err = s.open[0].request.Wait()
	case 1:
		list := make([]runtime.Request, len(s.open))
		for k := range list {
			list[k] = s.open[k].request
		}
		i, _, err = runtime.WaitAny(list)
	default:
		done := false
		for try := 0; !done && err == nil; try++ {
			pause(try)
			_, done, err = s.open[0].request.Test()
		}
	}
	if i < 0 {
		return fmt.Errorf("WaitAny of %d sends: %w", len(s.open), err)
	}
	o := s.open[i]
	s.open = append(s.open[:i:i], s.open[i+1:]...)
	if err == nil {
		err = o.parcel.check(o.payload)
	}
	if err != nil {
		return fmt.Errorf("end of the send of %v: %w", o.parcel, err)
	}
	clear(o.payload) // the send has ended, so the runtime must not read the payload any more
	return nil
}

// patientTries is the index of the last poll before which pause does not sleep.
const patientTries = 100

// pause sleeps before a poll if there were many polls already, because the caller may have to poll for
// seconds.
func pause(try int) {
	if try > patientTries {
		time.Sleep(time.Duration(min(try, 1000)) * time.Microsecond) // virtual time
	}
}
