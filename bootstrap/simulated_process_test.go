package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// process is the process of a rank.
type process struct {
	rank, node, start int
	conn              *simulatedConn
	dead              chan struct{}
	once              sync.Once
}

// live runs a rank from its start to its end, in the same way as Main and World.Resume.
func (s *simulated) live(p *process, job bootstrap.Job) {
	session := bootstrap.Attach(job, p.conn, nil, [32]byte{1})
	for {
		err := s.generation(session, p)
		if isOver(p) {
			return
		}
		if err == nil {
			s.mu.Lock()
			s.finished[p.rank] = session.Job().Generation
			s.mu.Unlock()
			if err := session.Finalize(); !isOver(p) {
				s.note(err)
			}
			return
		}
		if !errors.Is(err, bootstrap.ErrRenewed) {
			s.note(fmt.Errorf("rank %d in generation %d: %w", p.rank, session.Job().Generation, err))
			return
		}
		s.think() // simulates the time in which the rank leaves its World
		if err := session.Renew(); err != nil && !isOver(p) {
			s.note(err)
			return
		}
	}
}

// generation does what the World of a rank does in one generation: an exchange of cards, an agreement and a
// fence.
func (s *simulated) generation(session *bootstrap.Session, p *process) error {
	number := session.Job().Generation
	decisions, stop := listen(session)
	defer stop()
	card := session.Card()
	card.PID = number<<16 | p.start
	book, err := session.Exchange(context.Background(), card)
	if err != nil {
		return err
	}
	now := s.plan(number)
	for rank := range book.Size() {
		card, there := book.Card(rank)
		if there && card.PID != number<<16|now.starts[rank] {
			return fmt.Errorf("the book has rank %d of generation %d, started %d times before: want %d", rank, card.PID>>16, card.PID&0xffff, now.starts[rank])
		}
		if !there {
			return fmt.Errorf("the book has no rank %d", rank)
		}
	}
	s.think()
	members := make([]int, book.Size())
	for i := range members {
		members[i] = i
	}
	vote := bootstrap.Vote{Generation: number, Comm: 5, Round: 1, Purpose: bootstrap.PurposeFlags, Flags: 1 << number, Members: members}
	if err := session.Vote(vote); err != nil {
		return err
	}
	select {
	case d := <-decisions:
		if d.Flags != 1<<number || d.Lost >= 0 {
			return fmt.Errorf("an agreement of flags %x, without rank %d", d.Flags, d.Lost)
		}
	case <-session.Renewed():
		return bootstrap.ErrRenewed
	case <-p.dead:
		return nil
	}
	s.think()
	return session.Fence(context.Background())
}

// listen passes decisions from a session to a channel until stop is called, as a World does.
func listen(session *bootstrap.Session) (_ <-chan *bootstrap.Decision, stop func()) {
	decisions, stopping, stopped := make(chan *bootstrap.Decision, 16), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case n, more := <-session.Notices():
				if !more {
					return
				}
				if n.Kind == bootstrap.Decided {
					decisions <- n.Decision
				}
			case <-stopping:
				return
			}
		}
	}()
	return decisions, func() { close(stopping); <-stopped }
}

func (s *simulated) think() { time.Sleep(s.line.delay(5 * time.Millisecond)) }

// happen is called at each event. At the events in s.killing, happen kills a random rank or the node of that
// rank.
func (s *simulated) happen(event int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.killing, event) {
		return
	}
	victim := s.ranks[s.line.pick(len(s.ranks))]
	if victim == nil {
		return
	}
	if node := victim.node; s.wholeHosts && node > 0 && !s.down[node] {
		s.down[node] = true
		for _, p := range s.ranks {
			if p != nil && p.node == node {
				p.kill()
			}
		}
		time.AfterFunc(10*time.Millisecond, func() { s.ended <- ending{node: node} })
		return
	}
	victim.kill()
}

func (p *process) kill() {
	p.once.Do(func() { close(p.dead) })
	_ = p.conn.Close()
}

func isOver(p *process) bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

func (s *simulated) isDown(node int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[node]
}
