package program

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// Shrink is a program of steps. In each step, the ranks send messages around a ring, and agree whether all of
// them succeeded. If a rank dies, the other ranks shrink their communicator and repeat the step. Each rank
// works in two communicators at the same time: the communicator of the World, and a communicator of half of
// the ranks. Every agreement must have the same result at all ranks.
func Shrink() simulate.Program {
	return simulate.Program{
		Name: "shrink", Ranks: []int{1, 2, 3, 4, 6}, Mortal: true,
		Adapt: func(c *simulate.Conditions) { c.Launcher = true }, Main: shrink,
	}
}

// Streams of random numbers of Shrink.
const (
	streamShrink      = 11000
	streamShrinkRanks = 12000 // plus the rank
	streamShrinkHalf  = 13000 // plus the rank, for the goroutine that works in a half
)

// survivor is the state of one rank of Shrink in one communicator.
type survivor struct {
	simulate.Rank
	lost *losses
	own  *rand.Rand
}

func shrink(r simulate.Rank) error {
	s := &survivor{r, newLosses(r.Conditions), r.Random(uint32(streamShrinkRanks + r.Rank()))}
	steps := simulate.Pick(r.Random(streamShrink), 1, 3, 8)
	half, err := r.Comm().Split(r.Rank()%2, 0)
	if err != nil { // this rank has no communicator of its half that it could revoke
		r.Comm().Revoke(err)
		return s.lost.unexpectedEnd(err)
	}
	beside := &survivor{r, s.lost, r.Random(uint32(streamShrinkHalf + r.Rank()))}
	done := make(chan error, 1)
	go func() { done <- beside.work(fmt.Sprint("half ", r.Rank()%2), half, steps) }()
	err = s.work("all", r.Comm(), steps)
	return errors.Join(err, <-done)
}

// unexpectedEnd does the work of unexpected for an error that may report the end of a communicator. One
// member has ended the communicator. At the other members, the cause in the error is possibly only a text.
func (l *losses) unexpectedEnd(err error) error {
	if l.mortal && errors.Is(err, runtime.ErrCommBroken) {
		return simulate.ErrGivenUp
	}
	return l.unexpected(err)
}

// work executes the steps in a communicator.
func (s *survivor) work(name string, c *runtime.Comm, steps int) error {
	for step, tries := 0, 0; step < steps; tries++ {
		key := fmt.Sprintf("%s %d %d", name, step, tries)
		if simulate.Chance(s.own, 0.2) {
			time.Sleep(simulate.Within(s.own, 20*time.Millisecond)) // virtual time
		}
		err := s.ring(c, step)
		if err != nil {
			if !errors.Is(err, runtime.ErrCommBroken) && s.lost.unexpected(err) != nil {
				return err
			}
			c.Revoke(err)
		}
		good, err := s.agree(key, c, err == nil)
		if err != nil {
			return err
		}
		if good {
			step++
			continue
		}
		if c, err = s.shrunk(key, c); err != nil {
			return err
		}
	}
	return nil
}

// ring sends a message to the next member, and receives and checks the message of the previous member.
func (s *survivor) ring(c *runtime.Comm, step int) error {
	n, got := c.Size(), make([]int, 1)
	to, from := (c.Rank()+1)%n, (c.Rank()+n-1)%n
	_, err := runtime.SendRecv(c, []int{step*100 + s.Rank.Rank()}, to, 1, got, from, 1)
	if want := step*100 + c.WorldRank(from); err == nil && got[0] != want {
		err = fmt.Errorf("%d of rank %d in place of %d", got[0], from, want)
	}
	return err
}

// agree reports whether the step succeeded at all members. The flags of Agree also show which members took
// part, because each member clears the bit of its rank.
func (s *survivor) agree(key string, c *runtime.Comm, good bool) (bool, error) {
	const goodBit = 1 << 63
	mine := ^uint64(1 << s.Rank.Rank())
	if !good {
		mine &^= goodBit
	}
	if simulate.Chance(s.own, 0.3) {
		c.Ack()
	}
	flags, err := c.Agree(mine)
	lost := runtime.Undefined
	var peer *runtime.PeerError
	if errors.As(err, &peer) && s.lost.mortal && peer.Rank == s.lost.rank {
		lost, err = peer.Rank, nil
	}
	if err != nil {
		return false, err
	}
	for _, rank := range c.Group().Ranks() {
		if flags&(1<<rank) != 0 && (!s.lost.mortal || rank != s.lost.rank) {
			return false, fmt.Errorf("%s: rank %d, which lives, has no part in %x", key, rank, flags)
		}
	}
	if lost >= 0 {
		if members, _ := c.Failed(); members.Rank(lost) < 0 {
			return false, fmt.Errorf("%s: rank %d is lost, and not in Failed", key, lost)
		}
	}
	return flags&goodBit != 0 && lost < 0, s.same(key+" agree", fmt.Sprintf("%x, lost %d", flags, lost))
}

// shrunk shrinks c, and checks the members of the communicator that it returns.
func (s *survivor) shrunk(key string, c *runtime.Comm) (*runtime.Comm, error) {
	made, err := c.Shrink()
	if err != nil {
		return nil, err
	}
	living := made.Group().Ranks()
	if !slices.Contains(living, s.Rank.Rank()) || made.WorldRank(made.Rank()) != s.Rank.Rank() || len(living) < c.Size()-1 {
		return nil, fmt.Errorf("%s: %v of %v", key, living, c.Group().Ranks())
	}
	if c != s.Comm() && simulate.Chance(s.own, 0.5) {
		if err := c.Close(); err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("%s shrink of %v", key, c.Group().Ranks())
	return made, s.same(name, fmt.Sprint(living))
}

// same checks that every rank that calls it with this key has the same result.
func (s *survivor) same(key, result string) error {
	if first, _ := s.Board.LoadOrStore(key, result); first != result {
		return fmt.Errorf("%s: %s here, %s elsewhere", key, result, first)
	}
	return nil
}
