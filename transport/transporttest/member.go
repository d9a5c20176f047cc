package transporttest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// arrival is a message that Poll has delivered to Arrive. payload is a copy.
type arrival struct {
	peer    int
	header  transport.Header
	payload []byte
}

// completion holds the arguments of Completed for one operation.
type completion struct {
	peer  int
	value uint64
	err   error
}

// member drives the transport of one rank and is its Handler. It records the events that Poll
// reports, and fails the test if an event violates the contract.
type member struct {
	rig       *rig
	rank      int
	transport transport.Transport
	sleeper   transport.Sleeper
	closed    bool

	arrivals    []arrival
	completions map[uint64]completion
	downs       []*transport.PeerDown
	tokens      uint64
	// after, if set, is called at the end of every callback, with the name of the callback.
	after func(callback string)
	// onArrive, if set, receives the messages, which are then not appended to arrivals.
	onArrive func(peer int, h transport.Header, payload []byte)
}

var _ transport.Handler = (*member)(nil)

func newMember(r *rig, rank int, t transport.Transport, s transport.Sleeper) *member {
	return &member{rig: r, rank: rank, transport: t, sleeper: s, completions: map[uint64]completion{}}
}

// Arrive implements transport.Handler.
func (m *member) Arrive(peer int, h transport.Header, payload []byte) {
	m.refuseLost("message", peer)
	defer m.then("Arrive")
	if m.onArrive != nil {
		m.onArrive(peer, h, payload)
		return
	}
	m.arrivals = append(m.arrivals, arrival{peer, h, slices.Clone(payload)})
}

// Completed implements transport.Handler.
func (m *member) Completed(peer int, token, value uint64, err error) {
	m.refuseLost("completion", peer)
	if _, twice := m.completions[token]; twice || token == 0 || token > m.tokens {
		m.rig.Errorf("rank %d: completion of token %d that is not under way", m.rank, token)
	}
	m.completions[token] = completion{peer, value, err}
	m.then("Completed")
}

// Down implements transport.Handler.
func (m *member) Down(down *transport.PeerDown) {
	m.refuseLost("loss", down.Peer)
	m.downs = append(m.downs, down)
	m.then("Down")
}

func (m *member) then(callback string) {
	if m.after != nil {
		m.after(callback)
	}
}

// refuseLost fails the test if an event concerns a peer whose loss was reported before.
func (m *member) refuseLost(what string, peer int) {
	if m.isDown(peer) {
		m.rig.Errorf("rank %d: %s of rank %d after its loss was reported", m.rank, what, peer)
	}
}

// isDown reports whether Down has reported the loss of the peer.
func (m *member) isDown(peer int) bool {
	return slices.ContainsFunc(m.downs, func(d *transport.PeerDown) bool { return d.Peer == peer })
}

// nextToken returns a token that no earlier operation of this rank has used.
func (m *member) nextToken() uint64 {
	m.tokens++
	return m.tokens
}

// poll polls once and returns the number of events.
func (m *member) poll() int {
	if m.closed {
		return 0
	}
	n, err := m.transport.Poll(m, pollBudget)
	if err != nil {
		m.rig.Errorf("rank %d: poll: %v", m.rank, err)
	}
	return n
}

// close closes the rank's transport.
func (m *member) close() error {
	m.closed = true
	return m.transport.Close()
}

// wait polls, yields and sleeps, as an engine does, until done returns true. If a sleep ends by
// its timeout although there is an event to poll, a wake-up was lost, and wait returns an error.
func (m *member) wait(what string, done func() bool) error {
	deadline := time.Now().Add(m.rig.patience)
	for !done() {
		if m.poll() > 0 {
			continue
		}
		if m.rig.failed.Load() {
			return fmt.Errorf("rank %d: given up while waiting: %s", m.rank, what)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("rank %d: still waiting: %s", m.rank, what)
		}
		ticket := m.sleeper.Prepare()
		if !m.transport.Arm() {
			m.sleeper.Yield()
			continue
		}
		began := time.Now()
		m.sleeper.Sleep(ticket, int64(m.rig.patience/4))
		m.transport.Disarm()
		if time.Since(began) >= m.rig.patience/4 && m.poll() > 0 {
			return fmt.Errorf("rank %d: slept through an arrival: %s", m.rank, what)
		}
	}
	return nil
}

// linger counts this rank in ended, the number of ranks that have finished, and polls until all ranks have finished.
// A transport may hold back messages that Send has accepted, and send them during later Polls of this rank.
func (m *member) linger(ended *atomic.Int32) error {
	ended.Add(1)
	for deadline := time.Now().Add(m.rig.patience); int(ended.Load()) < len(m.rig.ranks); m.sleeper.Yield() {
		if m.rig.failed.Load() || time.Now().After(deadline) {
			return fmt.Errorf("rank %d: the others do not finish", m.rank)
		}
		m.poll()
	}
	return nil
}

// send sends one message from the member's own goroutine. While Send returns ErrAgain, the member polls and
// yields. It does not sleep, because a transport need not ring when the lane has room again.
func (m *member) send(to int, h transport.Header, payload []byte) error {
	e, err := m.transport.Endpoint(to)
	if err != nil {
		return err
	}
	return m.drive(func() error { return e.Send(h, payload) })
}

// complete starts an operation, waits until it completes, and returns its error.
func (m *member) complete(what string, operation func(token uint64) error) error {
	token := m.nextToken()
	if err := m.drive(func() error { return operation(token) }); err != nil {
		return err
	}
	if err := m.wait(what, func() bool { _, ok := m.completions[token]; return ok }); err != nil {
		return err
	}
	return m.completions[token].err
}

// stream sends count numbered messages of n bytes. The receiver checks them with checkStreams.
func (m *member) stream(to int, count uint64, n int) error {
	for i := range count {
		if err := m.send(to, transport.Header{A: i, B: uint64(n)}, pattern(i, n)); err != nil {
			return err
		}
	}
	return nil
}

// drive repeats an operation while it returns ErrAgain, and polls in between.
func (m *member) drive(operation func() error) error {
	deadline := time.Now().Add(m.rig.patience)
	for {
		err := operation()
		if !errors.Is(err, transport.ErrAgain) {
			return err
		}
		if m.poll() == 0 {
			m.sleeper.Yield()
		}
		if m.rig.failed.Load() || time.Now().After(deadline) {
			return fmt.Errorf("rank %d: refused for too long: %w", m.rank, err)
		}
	}
}
