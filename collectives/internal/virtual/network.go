package virtual

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
)

// Setup is what a simulation runs.
type Setup struct {
	// Ranks is the number of ranks.
	Ranks int
	Model Model
	// Payload gives ranks real memory. Without it messages carry what lies in memory of the ranks'
	// own, and nothing of their buffers and scratch memory.
	Payload bool
	// MessagesMax ends a simulation that sends more messages, with ErrMessages; 0 is for none.
	MessagesMax int
}

// ErrMessages is the error of a simulation that takes more messages than its Setup allows.
var ErrMessages = errors.New("too many messages to simulate")

// errStopped ends the ranks of a simulation that has failed elsewhere.
var errStopped = errors.New("the simulation has ended")

// network is the state of a simulation.
type network struct {
	Setup
	agenda     agenda
	ranks      []Rank
	processors []processor
	lanes      map[uint64]*lane
	spare      *envelope // a list of envelopes to use again
	scratch    region
	arguments  [Arguments]region
	// sent and received are the times from which the link of a node is free; that of a rank to
	// others of its node is in Rank.
	sent, received []Time
	// contended: what one rank does depends on what others of its node do, so that all of
	// them must be at the same time.
	contended bool
	// alone: only one rank runs, its messages come and go at once.
	alone    bool
	messages int
	running  int
	err      error
}

// Run runs body as every rank and returns what it cost. A body returns the error of the Peer
// method that failed. Ranks that wait for each other end with a *DeadlockError, messages that
// nobody receives with a *LeftoverError.
func Run(s Setup, body func(r *Rank) error) (*Result, error) {
	if s.Ranks < 1 {
		return nil, fmt.Errorf("simulation of %d ranks: at least one is needed", s.Ranks)
	}
	if err := s.Model.Validate(); err != nil {
		return nil, fmt.Errorf("simulation of %d ranks: %w", s.Ranks, err)
	}
	n := newNetwork(s)
	defer n.close()
	for i := range n.ranks {
		r := &n.ranks[i]
		r.resume, r.stop = iter.Pull(func(yield func(struct{}) bool) {
			r.yield = yield
			defer r.recovered()
			debug.SetPanicOnFault(true) // of this goroutine
			r.work(span(s.Model.Call))
			r.finish(body(r))
		})
		n.agenda.add(event{kind: wakes, rank: r})
	}
	defer func() {
		for i := range n.ranks {
			n.ranks[i].stop()
		}
	}()
	for n.err == nil && !n.agenda.empty() {
		n.happen(n.agenda.next())
	}
	if n.err == nil {
		n.err = n.unfinished()
	}
	if n.err != nil {
		return nil, n.err
	}
	return n.result(), nil
}

// close gives up the network's address space.
func (n *network) close() {
	n.scratch.close()
	for i := range n.arguments {
		n.arguments[i].close()
	}
}

func newNetwork(s Setup) *network {
	nodeSize := max(s.Model.RanksPerNode, 1)
	nodes := (s.Ranks + nodeSize - 1) / nodeSize
	shared := s.Model.Processors > 0 && s.Model.Processors < min(nodeSize, s.Ranks)
	n := &network{
		Setup: s, ranks: make([]Rank, s.Ranks), lanes: make(map[uint64]*lane), running: s.Ranks,
		sent: make([]Time, nodes), received: make([]Time, nodes), contended: shared || nodeSize > 1,
	}
	if shared {
		n.processors = make([]processor, nodes*s.Model.Processors)
	}
	for i := range n.ranks {
		r := &n.ranks[i]
		*r = Rank{net: n, id: i, node: i / nodeSize, started: -1}
		if shared {
			local := i % nodeSize
			r.processor = &n.processors[r.node*s.Model.Processors+local%s.Model.Processors]
			r.place = local / s.Model.Processors
			r.processor.ranks++
		}
	}
	for i := range n.processors {
		p := &n.processors[i]
		p.visit = span(s.Model.Visit + s.Model.VisitPerRank*float64(p.ranks))
		p.last, p.free = -1, -p.visit // the first visit, of the first rank, ends at 0
	}
	return n
}

// happen lets an event happen.
func (n *network) happen(e event) {
	if e.at > end/2 {
		n.fail(errors.New("the simulation lasts longer than 25 days of virtual time"))
		return
	}
	switch e.kind {
	case wakes:
		e.rank.now = e.at
		if e.rank.processor != nil {
			e.rank.processor.request(e.rank, e.at)
			return
		}
		e.rank.run(e.at)
	case runs:
		e.rank.run(e.at)
	case offers:
		e.msg.offered = true
		if r := e.msg.lane.awaited(e.msg); r != nil {
			n.demand(e.msg, e.at)
		}
	case leaves:
		n.leave(e.msg, e.at)
	case arrives:
		n.arrive(e.msg, e.at)
	}
}

// ports returns the link of a rank for messages to or from a peer: that of its node, or its own
// to the others of its node.
func (n *network) ports(r *Rank, peer int) (sent, received *Time) {
	if n.ranks[peer].node == r.node {
		return &r.sent, &r.received
	}
	return &n.sent[r.node], &n.received[r.node]
}

// segment returns the cost of a message between two ranks.
func (n *network) segment(from, to, bytes int) *Segment {
	if n.ranks[from].node == n.ranks[to].node && len(n.Model.Node) > 0 {
		return n.Model.Node.of(bytes)
	}
	return n.Model.Network.of(bytes)
}

// demand is the receiver's request for a message that was offered.
func (n *network) demand(m *envelope, now Time) {
	m.demanded = true
	n.agenda.add(event{at: now + span(m.segment.Handshake), kind: leaves, msg: m})
}

// leave puts a message on the sender's link.
func (n *network) leave(m *envelope, now Time) {
	link, _ := n.ports(&n.ranks[m.from], m.to)
	_, next := m.segment.occupancy(m.bytes)
	start := max(now, *link)
	*link = start + next
	n.agenda.add(event{at: start + span(m.segment.Latency), kind: arrives, msg: m})
}

// arrive takes a message from the receiver's link.
func (n *network) arrive(m *envelope, now Time) {
	_, link := n.ports(&n.ranks[m.to], m.from)
	bytes, next := m.segment.occupancy(m.bytes)
	start := max(now, *link)
	*link = start + next
	m.arrived, m.at = true, start+bytes
	if r := m.lane.awaited(m); r != nil {
		r.wake(m.at)
	}
}

// fail ends the simulation; the first error counts.
func (n *network) fail(err error) {
	if n.err == nil {
		n.err = err
	}
}
