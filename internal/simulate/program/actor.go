package program

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// Actors is a program in which the actors of all ranks send each other messages. It checks their order,
// back-pressure, futures, and watches of actors that end.
func Actors() simulate.Program {
	return simulate.Program{Name: "actors", Ranks: []int{1, 2, 2, 3, 5}, Main: runActors}
}

// BrokenActors is the program Actors with the death of a rank. The messages between the other ranks must
// arrive, and requests to the dead rank must end. Every watcher must be notified once of the end of each actor
// that it watches.
func BrokenActors() simulate.Program {
	return simulate.Program{Name: "broken-actors", Ranks: []int{2, 3, 5}, Mortal: true, Main: runActors}
}

// Streams of random numbers of Actors.
const (
	streamCast   = 7000 // the same at all ranks
	streamActors = 7100 // plus the rank
)

// letter is a message of a sender to the actor "sink" of a rank.
type letter struct {
	From, Sender, Number int
	Text                 string
}

// quit is the message that ends a worker.
type quit struct{}

func init() {
	actors.RegisterType[letter]()
	actors.RegisterType[quit]()
}

// futureTime is longer than all outages of a job together.
const futureTime = 20 * time.Minute

// cast has the parameters of a job, which are the same at all ranks.
type cast struct {
	senders, letters int           // senders of each rank, letters of each sender
	longest          int           // upper bound of the length of a letter's text
	inline           bool          // sink and echo are inline actors
	slow             time.Duration // sleep of sink at every 16th letter
}

func runActors(r simulate.Rank) error {
	draw := r.Random(streamCast)
	c := cast{
		senders: 1 + draw.IntN(3), letters: simulate.Pick(draw, 5, 60, 300), longest: simulate.Pick(draw, 10, 600, 6000),
		inline: simulate.Chance(draw, 0.3), slow: simulate.Pick(draw, 0, 0, time.Millisecond),
	}
	s, err := actors.OfConfig(r.World, actors.Config{
		Mailbox: simulate.Pick(draw, 2<<10, 64<<10), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	p := &stage{rank: r, cast: c, system: s, random: r.Random(uint32(streamActors + r.Rank())), mortal: -1}
	if deaths := r.Conditions.Deaths; len(deaths) > 0 {
		p.mortal = deaths[0].Rank
	}
	return p.run()
}

// stage is the state of one rank of the program.
type stage struct {
	rank   simulate.Rank
	cast   cast
	system *actors.System
	random *rand.Rand
	mortal int // the rank that may die, or -1

	mu       sync.Mutex
	wrong    error
	received map[[2]int]int // by rank and sender: number of letters received
	complete chan struct{}  // receives a value for each letter, except letters of the mortal rank
	ended    map[int]int    // by rank: how often its worker was reported as terminated
	watched  chan struct{}  // receives a value for each report of a terminated worker
}

// fail records an error. It keeps an error that was recorded before.
func (p *stage) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wrong == nil {
		p.wrong = err
	}
}

func (p *stage) run() error {
	p.received, p.ended = map[[2]int]int{}, map[int]int{}
	p.complete, p.watched = make(chan struct{}, 1<<16), make(chan struct{}, 1<<10)
	if err := p.spawn(); err != nil {
		return err
	}
	jobs := []func() error{p.ask}
	for k := range p.cast.senders {
		jobs = append(jobs, p.sender(k, rand.New(rand.NewPCG(uint64(p.random.Int64()), 1))))
	}
	if err := together(jobs); err != nil {
		return err
	}
	if err := p.await(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrong
}

// spawn spawns the actors sink, echo, worker and watcher of this rank.
func (p *stage) spawn() error {
	where := p.system.Worker()
	if p.cast.inline {
		where = p.system.Inline()
	}
	_, err := p.system.Spawn(actor.PropsFromFunc(p.sink, where), "sink")
	if err == nil {
		_, err = p.system.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if n, ok := c.Message().(int); ok {
				c.Respond(n + 1)
			}
		}, where), "echo")
	}
	if err == nil {
		_, err = p.system.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*quit); ok {
				c.Stop(c.Self())
			}
		}), "worker")
	}
	if err == nil {
		_, err = p.system.Spawn(actor.PropsFromFunc(p.watcher), "watcher")
	}
	return err
}

// sink receives letters, and checks their order and length.
func (p *stage) sink(c actor.Context) {
	m, ok := c.Message().(*letter)
	if !ok {
		return
	}
	if p.cast.slow > 0 && !p.cast.inline && m.Number%16 == 0 {
		time.Sleep(p.cast.slow) // virtual time
	}
	p.mu.Lock()
	from := [2]int{m.From, m.Sender}
	want := p.received[from]
	if p.received[from]++; m.Number != want && p.wrong == nil {
		p.wrong = fmt.Errorf("rank %d: letter %d of sender %d of rank %d came in place of %d", p.rank.Rank(), m.Number, m.Sender, m.From, want)
	}
	if len(m.Text) != length(m.Number, p.cast.longest) && p.wrong == nil {
		p.wrong = fmt.Errorf("letter %d of rank %d has %d bytes", m.Number, m.From, len(m.Text))
	}
	p.mu.Unlock()
	if m.From != p.mortal {
		p.complete <- struct{}{}
	}
}

// length returns the length of the text of a letter.
func length(number, longest int) int { return number * 7919 % longest }

// to returns the rank to which a sender of a rank sends its letters.
func (p *stage) to(rank, sender int) int { return (rank + sender) % p.rank.Size() }

// sender returns a function that sends the letters of sender k. It sends them from a goroutine if k is even,
// and from an actor if k is odd.
func (p *stage) sender(k int, r *rand.Rand) func() error {
	pid := p.system.PID(p.to(p.rank.Rank(), k), "sink")
	next := func(i int) *letter {
		return &letter{p.rank.Rank(), k, i, string(make([]byte, length(i, p.cast.longest)))}
	}
	if k%2 == 0 {
		return func() error {
			for i := range p.cast.letters {
				if simulate.Chance(r, 0.05) {
					time.Sleep(simulate.Within(r, time.Millisecond)) // virtual time
				}
				p.system.Root.Send(pid, next(i))
			}
			return nil
		}
	}
	return func() error {
		// For each message from itself, the actor sends one letter, so that a full outbox suspends it.
		i, over := 0, make(chan struct{})
		_, err := p.system.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if c.Message() != "go" {
				return
			}
			c.Send(pid, next(i))
			if i++; i < p.cast.letters {
				c.Send(c.Self(), "go")
			} else {
				close(over)
			}
		}), fmt.Sprintf("sender%d", k))
		if err != nil {
			return err
		}
		p.system.Root.Send(p.system.PID(p.rank.Rank(), fmt.Sprintf("sender%d", k)), "go")
		return p.wait(over)
	}
}

// ask sends requests, and waits for and checks the answers.
func (p *stage) ask() error {
	for i := range 20 {
		to := (p.rank.Rank() + i) % p.rank.Size()
		answer, err := p.system.Root.RequestFuture(p.system.PID(to, "echo"), i, futureTime).Result()
		switch {
		case to == p.mortal && errors.Is(err, actor.ErrDeadLetter):
		case err != nil:
			return fmt.Errorf("request %d of rank %d to rank %d: %w", i, p.rank.Rank(), to, err)
		case answer != i+1:
			return fmt.Errorf("request %d to rank %d: answer %v", i, to, answer)
		}
	}
	return nil
}

// watcher is an actor. It watches the workers of all ranks and counts the notices of terminated workers. It
// also ends the worker of the next rank or, in a job in which a rank may die, the worker of its own rank.
func (p *stage) watcher(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		for rank := range p.rank.Size() {
			c.Watch(p.system.PID(rank, "worker"))
		}
		to := (p.rank.Rank() + 1) % p.rank.Size()
		if p.mortal >= 0 {
			to = p.rank.Rank() // another rank might die before it sends quit to this rank's worker
		}
		c.Send(p.system.PID(to, "worker"), &quit{})
	case *actor.Terminated:
		rank, ok := p.system.RankOf(m.Who)
		if !ok {
			p.fail(fmt.Errorf("terminated: %v, of no rank", m.Who))
		}
		p.mu.Lock()
		if p.ended[rank]++; p.ended[rank] > 1 && p.wrong == nil {
			p.wrong = fmt.Errorf("rank %d: the worker of rank %d ended twice", p.rank.Rank(), rank)
		}
		p.mu.Unlock()
		p.watched <- struct{}{}
	}
}

// await waits until all expected letters and notices have arrived.
func (p *stage) await() error {
	for range p.rank.Size() {
		if err := p.wait(p.watched); err != nil {
			return err
		}
	}
	for rank := range p.rank.Size() {
		for k := range p.cast.senders {
			if p.to(rank, k) != p.rank.Rank() || rank == p.mortal {
				continue
			}
			for range p.cast.letters {
				if err := p.wait(p.complete); err != nil {
					return err
				}
			}
		}
	}
	if p.mortal >= 0 {
		return nil
	}
	if err := p.rank.Calm(); err != nil {
		return err
	}
	if len(p.complete)+len(p.watched) > 0 {
		return fmt.Errorf("%d letters and %d ends too many", len(p.complete), len(p.watched))
	}
	return nil
}

// errEnded is the error of waits that end because the job or the rank has ended.
var errEnded = errors.New("the job has ended")

// wait waits until the channel happened has a value or is closed, or until the job or the rank ends.
func (p *stage) wait(happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-p.rank.Ended:
		return errEnded
	}
}
