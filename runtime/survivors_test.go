package runtime_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// revShrinkKill: one rank after the other dies, some of them during Agree or Shrink.
func revShrinkKill(m mortal) error {
	c := m.Comm()
	for round := 0; c.Size() > 2; round++ {
		victim := c.WorldRank(c.Size() / 2)
		if m.Rank() == victim {
			if round%2 == 0 {
				return m.die()
			}
			go func() { _ = m.die() }() // dies during one of the calls below
		}
		err := meet(c)
		c.Revoke(err)
		c.Ack()
		if _, err := c.Agree(1); err != nil && isLoss(err, -1) != nil {
			return err
		}
		for c.Group().Rank(victim) >= 0 {
			if c, err = c.Shrink(); err != nil {
				return err
			}
		}
	}
	return meet(c)
}

// buddyCR: each rank keeps a copy of its left neighbor's state. After Shrink, the right neighbor of
// the dead rank has the copy of the dead rank's state. The copy is of the same step as the states of
// the other ranks.
func buddyCR(m mortal) error {
	c, n := m.Comm(), m.Size()
	const length, steps = 1 << 12, 6
	mine, kept, own := make([]float64, length), make([]float64, length), make([]float64, length)
	sum := 0.0
	for step := 0; step < steps; step++ {
		for i := range mine {
			mine[i] = float64(m.Rank()*steps + step)
		}
		if step == 4 && m.Rank() == 2 {
			return m.die()
		}
		_, err := runtime.SendRecv(c, mine, (c.Rank()+1)%c.Size(), 1, kept, (c.Rank()+c.Size()-1)%c.Size(), 1)
		ok := uint64(1)
		if err != nil {
			ok = 0
			c.Revoke(err) // the others may have continued without an error
		}
		if done, err := c.Agree(ok); done == 1 && err == nil {
			copy(own, mine) // all copies of this step are complete
			continue
		} else if err != nil && isLoss(err, 2) != nil {
			return err
		}
		next, err := c.Shrink()
		if err != nil {
			return err
		}
		if own[0] != float64(m.Rank()*steps+3) {
			return fmt.Errorf("rank %d goes back to %v", m.Rank(), own[0])
		}
		if m.Rank() == 3 && kept[0] != float64(2*steps+3) {
			return fmt.Errorf("the copy of rank 2 is %v", kept[0])
		}
		sum, c = own[0], next
		break
	}
	if c.Size() != n-1 || sum == 0 && m.Rank() != 0 {
		return fmt.Errorf("%d live, %v", c.Size(), sum)
	}
	return meet(c)
}

// isendErr: sends to dead ranks end with PeerErrors.
func isendErr(m mortal) error {
	c, n := m.Comm(), m.Size()
	if m.Rank() == n-1 || m.Rank() == n/2 {
		return m.die()
	}
	for _, victim := range []int{n - 1, n / 2} {
		_, err := runtime.Recv(c, make([]byte, 1), victim, 9)
		if err := isLoss(err, victim); err != nil {
			return err
		}
		r := runtime.Isend(c, []int{m.Rank()}, victim, 1)
		if err := isLoss(runtime.WaitAll([]runtime.Request{r}), victim); err != nil {
			return err
		}
	}
	if c.Ack().Size() < 2 { // both deaths were reported above, so Ack returns both
		return errors.New("Ack does not return the deaths that were reported")
	}
	_, err := c.Agree(1)
	return err
}

// pingPairs: pairs of ranks exchange messages. If a rank dies, its partner gets a PeerError, and the
// other pairs of ranks get no error.
func pingPairs(m mortal) error {
	c, peer, broken := m.Comm(), m.Rank()^1, false
	out, in := make([]int, 1), make([]int, 1)
	for i := range 200 {
		if i == 10 && m.Rank()%8 == 1 || i == 15 && m.Rank()%8 == 2 {
			return m.die()
		}
		out[0] = i
		_, err := runtime.SendRecv(c, out, peer, 1, in, peer, 1)
		if err == nil && in[0] != i {
			err = fmt.Errorf("received %d, want %d", in[0], i)
		}
		if err != nil {
			if broken = true; peer != 1 && peer != 2 {
				return err
			}
			if err := isLoss(err, peer); err != nil {
				return err
			}
		}
	}
	if expected := peer == 1 || peer == 2; broken != expected {
		return fmt.Errorf("broken %v, expected %v", broken, expected)
	}
	s, err := c.Shrink()
	for err == nil && s.Size() > m.Size()-2 {
		s, err = s.Shrink()
	}
	if err != nil {
		return err
	}
	return meet(s)
}

// sleepTest: a rank that makes no call for 200 ms, while messages to it are in flight, does not count as lost.
func sleepTest(m mortal) error {
	c, n := m.Comm(), m.Size()
	for i := range 2 {
		in := make([]int, 512)
		r := runtime.Irecv(c, in, (m.Rank()+n-1)%n, i)
		s := runtime.Isend(c, make([]int, 512), (m.Rank()+1)%n, i)
		time.Sleep(200 * time.Millisecond) // stands for a computation
		if err := runtime.WaitAll([]runtime.Request{r, s}); err != nil {
			return err
		}
	}
	if lost, epoch := c.Failed(); lost.Size() != 0 || epoch != 0 {
		return fmt.Errorf("%v are dead in epoch %d", lost.Ranks(), epoch)
	}
	_, err := c.Agree(1)
	return err
}
