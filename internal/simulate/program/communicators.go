package program

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// Communicators is a program that makes communicators by Dup, Split and Create, and closes them. It
// sends more messages in them than it receives, and runs nonblocking collective operations in several
// communicators at once. No message of one communicator may be received in another. The same must hold if a
// communicator gets a number that a closed communicator had.
func Communicators() simulate.Program {
	return simulate.Program{Name: "communicators", Ranks: []int{1, 2, 2, 3, 4, 6}, Main: communicators}
}

// Streams of random numbers of Communicators.
const (
	streamCommunicators = 7000
	streamSerial        = 8000 // plus the serial number of a communicator
	streamCloser        = 9000 // plus the rank
)

// colony is one communicator of the program. All ranks have a colony for each communicator.
type colony struct {
	serial  int
	members []int // ranks in the World
	*member       // nil at ranks that are not members
}

// colonies is the state of one rank of Communicators. All ranks draw the same steps.
type colonies struct {
	simulate.Rank
	draw, own *rand.Rand
	made      int
	open      []*colony
	closing   []*colony // colonies that are no longer used; this rank closes each at a random time
}

func communicators(r simulate.Rank) error {
	s := &colonies{Rank: r, draw: r.Random(streamCommunicators), own: r.Random(uint32(streamCloser + r.Rank()))}
	all := make([]int, r.Size())
	for i := range all {
		all[i] = i
	}
	s.found(r.Comm(), all)
	for range simulate.Pick(s.draw, 20, 60, 150) {
		if simulate.Chance(s.own, 0.1) {
			time.Sleep(simulate.Within(s.own, 20*time.Millisecond)) // virtual time
		}
		if err := s.step(s.draw.IntN(8), s.open[s.draw.IntN(len(s.open))]); err != nil {
			return err
		}
	}
	var errs []error
	for _, c := range s.open {
		if c.member != nil {
			errs = append(errs, c.settle())
		}
	}
	return errors.Join(append(errs, s.closeSome(1))...)
}

// found adds a communicator. comm is nil if this rank is not a member.
func (s *colonies) found(comm *runtime.Comm, members []int) {
	c := &colony{serial: s.made, members: members}
	s.made++
	if comm != nil {
		c.member = &member{
			comm: comm, random: s.Random(uint32(streamSerial + c.serial)), own: s.own, world: members,
			step: c.serial * 1000, // so that each communicator has its own values
		}
	}
	s.open = append(s.open, c)
}

// step executes the step that all ranks have drawn, on a communicator.
func (s *colonies) step(what int, c *colony) error {
	switch what {
	case 0:
		return s.dup(c)
	case 1:
		return s.split(c)
	case 2:
		return s.create(c)
	case 3, 4:
		return s.talk(c)
	case 5:
		if c.member != nil {
			c.step++
			c.begin(simulate.Pick(c.random, 0, 1, 100), c.random.IntN(c.comm.Size()))
		}
		return nil
	default:
		return s.abandon(c)
	}
}

func (s *colonies) dup(c *colony) error {
	if c.member == nil {
		s.found(nil, c.members)
		return nil
	}
	dup, err := c.comm.Dup()
	s.found(dup, c.members)
	return err
}

// split splits a communicator into at most two communicators. Some members may be in neither of them.
func (s *colonies) split(c *colony) error {
	var parts [2][]int
	color := make(map[int]int)
	for _, rank := range c.members {
		color[rank] = simulate.Pick(s.draw, 0, 1, 1, runtime.Undefined)
		if i := color[rank]; i >= 0 {
			parts[i] = append(parts[i], rank)
		}
	}
	var part *runtime.Comm
	var err error
	if c.member != nil {
		part, err = c.comm.Split(color[s.Rank.Rank()], 0)
	}
	for i, members := range parts {
		if len(members) == 0 {
			continue
		}
		mine := part
		if !slices.Contains(members, s.Rank.Rank()) {
			mine = nil
		}
		s.found(mine, parts[i])
	}
	return err
}

// create makes a communicator of some members, in a random order.
func (s *colonies) create(c *colony) error {
	chosen := s.draw.Perm(len(c.members))[:1+s.draw.IntN(len(c.members))]
	members := make([]int, len(chosen))
	for i, at := range chosen {
		members[i] = c.members[at]
	}
	if !slices.Contains(members, s.Rank.Rank()) {
		s.found(nil, members)
		return nil
	}
	group, err := c.comm.Group().Include(chosen...)
	if err != nil {
		return err
	}
	created, err := c.comm.Create(group, c.serial)
	s.found(created, members)
	return err
}

// talk sends messages in a communicator. Some of them are never received.
func (s *colonies) talk(c *colony) error {
	sizes := make(map[int][]int) // sizes of messages, by the receiver's rank in the communicator
	for range s.draw.IntN(3 * len(c.members)) {
		to := s.draw.IntN(len(c.members))
		sizes[to] = append(sizes[to], 16+drawSize(s.draw, s.Conditions))
	}
	if c.member == nil {
		return nil
	}
	me := c.comm.Rank()
	for to := range c.members {
		for _, n := range sizes[to] {
			// Each member sends all these messages, but the receiver receives only as many as one member
			// sends. No sender waits for the end of its sends.
			_ = runtime.Isend(c.comm, c.letter(n), to, s.own.IntN(5))
		}
	}
	for range sizes[me] {
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

// letter returns a message of n bytes that begins and ends with the serial number of its communicator.
func (c *colony) letter(n int) []byte {
	b := make([]byte, n)
	binary.LittleEndian.PutUint64(b, uint64(c.serial))
	binary.LittleEndian.PutUint64(b[n-8:], uint64(c.serial))
	return b
}

// receive receives any message of a communicator, and checks that the message was sent in it.
func (c *colony) receive() error {
	m, err := runtime.RecvMessage(c.comm, runtime.AnySource, runtime.AnyTag)
	if err != nil {
		return err
	}
	defer m.Close()
	b := m.Bytes()
	first, last := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[len(b)-8:])
	if int(first) != c.serial || int(last) != c.serial {
		return fmt.Errorf("communicator %d (%v) received a message of communicators %d and %d", c.serial, c.comm, first, last)
	}
	return nil
}

// abandon ends the program's use of a communicator, unless it is the first one. Each rank closes the communicator
// now or later.
func (s *colonies) abandon(c *colony) error {
	if c.serial > 0 {
		s.open = slices.DeleteFunc(s.open, func(o *colony) bool { return o == c })
		if c.member != nil {
			if err := c.settle(); err != nil {
				return err
			}
			s.closing = append(s.closing, c)
		}
	}
	return s.closeSome(0.5)
}

// closeSome closes each communicator in the field closing with a certain probability. The order differs
// from rank to rank. Before it closes a communicator, it sends up to two messages in the communicator.
func (s *colonies) closeSome(chance float64) error {
	s.own.Shuffle(len(s.closing), func(i, j int) { s.closing[i], s.closing[j] = s.closing[j], s.closing[i] })
	var kept []*colony
	for _, c := range s.closing {
		if !simulate.Chance(s.own, chance) {
			kept = append(kept, c)
			continue
		}
		for range s.own.IntN(3) {
			_ = runtime.Isend(c.comm, c.letter(16+drawSize(s.own, s.Conditions)), s.own.IntN(c.comm.Size()), s.own.IntN(5))
		}
		if err := c.comm.Close(); err != nil {
			return err
		}
	}
	s.closing = kept
	return nil
}
