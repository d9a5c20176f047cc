// Command stream tests that no message is lost, repeated or changed, even if adapters fail during the test.
// In each round, every rank sends numbered messages to every other rank: short messages, a long message, and
// messages to the actor of that rank. The receiver checks that each message arrives once, in order and
// complete. Rank 0 prints the number of each round that it has completed.
//
//	gorun -np 2 -transport rdma ./stream -rounds 40
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

const (
	// shorts is the number of short messages that a rank sends to each other rank in a round.
	// A short message has at most shortMost bytes.
	shorts    = 20
	shortMost = 5000
	// toActor is the number of messages that a rank sends to the actor of each other rank in a round.
	toActor = 10
	// head is the length in bytes of the header of a message: the sender's rank and the message's number.
	head = 16
	tag  = 1
	// patience bounds the wait for the last messages to the actor.
	patience = time.Minute
)

var (
	rounds = flag.Int("rounds", 40, "`number` of rounds")
	long   = flag.Int("long", 1<<20, "`bytes` of the long message of each round")
)

func main() {
	flag.Parse()
	runtime.Main(run)
}

// fill sets b to the message of len(b) bytes that a sender sends under a number.
func fill(b []byte, sender int, number uint64) {
	binary.LittleEndian.PutUint64(b, uint64(sender))
	binary.LittleEndian.PutUint64(b[8:], number)
	seed := number*31 + uint64(sender)*17
	for i := head; i < len(b); i++ {
		b[i] = byte(seed + uint64(i)*uint64(i>>8|1))
	}
}

// length returns the length in bytes of message number. The last message of each round is long.
func length(number uint64) int {
	if number%(shorts+1) == shorts {
		return max(*long, head)
	}
	return head + int(number*37%(shortMost-head))
}

// receiver is the actor of a rank. It checks the messages that other ranks send to it. It sends nil to the
// channel ends after the last message, or an error after a wrong message.
type receiver struct {
	next []uint64 // the number of the next message, by sender
	left int      // how many messages have not arrived yet
	ends chan<- error
}

// Receive implements actor.Actor.
func (r *receiver) Receive(c actor.Context) {
	b, ok := c.Message().([]byte)
	if !ok {
		return
	}
	if err := r.check(b); err != nil {
		r.ends <- err
		c.Stop(c.Self())
		return
	}
	if r.left--; r.left == 0 {
		r.ends <- nil
	}
}

// check returns an error if b is not the next message of its sender.
func (r *receiver) check(b []byte) error {
	if len(b) < head {
		return fmt.Errorf("an actor got %d bytes", len(b))
	}
	sender := binary.LittleEndian.Uint64(b)
	if sender >= uint64(len(r.next)) || r.left == 0 {
		return fmt.Errorf("an actor got a message of rank %d, and %d were to come", sender, r.left)
	}
	want := make([]byte, head+int(r.next[sender]%100))
	fill(want, int(sender), r.next[sender])
	if !bytes.Equal(b, want) {
		return fmt.Errorf("an actor got message %d of rank %d with %d bytes where number %d with %d was due", binary.LittleEndian.Uint64(b[8:]), sender, len(b), r.next[sender], len(want))
	}
	r.next[sender]++
	return nil
}

// run executes the program of one rank.
func run(w *runtime.World) error {
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	c, ends := w.Comm(), make(chan error, 1)
	mine := &receiver{next: make([]uint64, c.Size()), left: *rounds * toActor * (c.Size() - 1), ends: ends}
	if _, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor { return mine }), "receiver"); err != nil {
		return err
	}
	var peers []*actor.PID // nil for this rank
	for rank := range c.Size() {
		if rank == c.Rank() {
			peers = append(peers, nil)
		} else {
			peers = append(peers, s.PID(rank, "receiver"))
		}
	}
	for round := range *rounds {
		if err := exchange(c, s, peers, uint64(round)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if c.Rank() == 0 {
			_, _ = fmt.Fprintln(os.Stdout, "round", round+1)
		}
	}
	if c.Size() > 1 {
		select {
		case err := <-ends:
			if err != nil {
				return err
			}
		case <-time.After(patience):
			return errors.New("messages to the actor are missing")
		}
	}
	return end(c, ends)
}

// exchange sends the messages of a round. It receives and checks the messages that are not for the actor.
func exchange(c *runtime.Comm, s *actors.System, peers []*actor.PID, round uint64) error {
	var requests []runtime.Request
	var got [][]byte
	for peer, pid := range peers {
		if pid == nil {
			continue
		}
		for i := range uint64(toActor) {
			number := round*toActor + i
			b := make([]byte, head+int(number%100))
			fill(b, c.Rank(), number)
			s.Root.Send(pid, b)
		}
		for i := range uint64(shorts + 1) {
			number := round*(shorts+1) + i
			in, out := make([]byte, length(number)), make([]byte, length(number))
			fill(out, c.Rank(), number)
			got = append(got, in)
			requests = append(requests, runtime.Irecv(c, in, peer, tag), runtime.Isend(c, out, peer, tag))
		}
	}
	if err := runtime.WaitAll(requests); err != nil {
		return err
	}
	for peer, pid := range peers {
		if pid == nil {
			continue
		}
		for i := range uint64(shorts + 1) {
			number := round*(shorts+1) + i
			want := make([]byte, length(number))
			fill(want, peer, number)
			if !bytes.Equal(got[0], want) {
				return fmt.Errorf("message %d of rank %d is not what it sent: it begins with number %d", number, peer, binary.LittleEndian.Uint64(got[0][8:]))
			}
			got = got[1:]
		}
	}
	return nil
}

// end checks, after all ranks have completed their rounds, that no further message has arrived.
func end(c *runtime.Comm, ends <-chan error) error {
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	s, more, err := runtime.Iprobe(c, runtime.AnySource, runtime.AnyTag)
	if err != nil {
		return err
	}
	if more {
		return fmt.Errorf("rank %d has sent a message more", s.Source)
	}
	select {
	case err := <-ends:
		return err
	default:
	}
	if c.Rank() == 0 {
		_, _ = fmt.Fprintf(os.Stdout, "%d rounds: each message once, in order and whole\n", *rounds)
	}
	return nil
}
