package program

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	// creditCost is an upper bound in bytes of the credit that a message of one byte takes.
	creditCost = 512
	// flood is a number of messages that exceeds most lanes and windows.
	flood = 40
	// rounds is the number of repetitions of an exchange.
	rounds = 3
)

// credits checks that receivers return all credit. After all messages were received, at least half of the
// initial window must be free. Sends within this half then complete before they are received. A receiver that
// sends no messages to the sender has to return the credit in a message of its own.
func credits(r simulate.Rank, c *runtime.Comm) error {
	rank, n := c.Rank(), c.Size()
	affordable := make([]byte, min(r.Conditions.Budget/int64(4*n*creditCost), 16))
	exchange := func(to, from int) error {
		for i := 0; to < n && i < len(affordable); i++ {
			if err := runtime.Send(c, affordable[:1], to, 0); err != nil {
				return err
			}
		}
		if err := r.Meet(); err != nil {
			return err
		}
		for i := 0; from >= 0 && i < len(affordable); i++ {
			if _, err := runtime.Recv(c, affordable[:1], from, 0); err != nil {
				return err
			}
		}
		return r.Calm()
	}
	for d := range n {
		if err := exchange((rank+d)%n, (rank+n-d)%n); err != nil {
			return err
		}
	}
	for i := range 2 * rounds {
		if i >= rounds { // cancels comes last, because a rank that runs out of credit gets a larger window
			if err := cancels(c, r.Conditions.EagerBest); err != nil {
				return fmt.Errorf("sends that are cancelled: %w", err)
			}
			if err := r.Calm(); err != nil {
				return err
			}
		}
		if err := exchange(rank+1, rank-1); err != nil {
			return err
		}
	}
	return nil
}

// cancels sends many messages to the next rank and cancels three of every four messages. Exactly the messages
// that were not cancelled in time must arrive.
func cancels(c *runtime.Comm, size int) error {
	var open []runtime.Request
	to, from := c.Rank()+1, c.Rank()-1
	if to < c.Size() {
		sent := []int{0}
		for i := range flood {
			r := runtime.Isend(c, make([]byte, size*(i/4%2)), to, 1)
			if i%4 == 0 {
				open = append(open, r)
				continue
			}
			r.Cancel()
			if _, err := r.Wait(); err == nil {
				sent[0]++
			} else if !errors.Is(err, runtime.ErrCanceled) {
				return err
			}
		}
		sent[0] += len(open)
		open = append(open, runtime.Isend(c, sent, to, 2))
	}
	if from >= 0 {
		want := []int{0}
		if _, err := runtime.Recv(c, want, from, 2); err != nil {
			return err
		}
		for range want[0] {
			if _, err := runtime.Recv(c, make([]byte, size), from, 1); err != nil {
				return err
			}
		}
		if s, found, err := runtime.Iprobe(c, from, 1); found || err != nil {
			return errors.Join(err, fmt.Errorf("one message too many: %+v", s))
		}
	}
	return runtime.WaitAll(open)
}
