package virtual

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
)

// Setup has the parameters of a simulation.
type Setup struct {
	// Ranks is the number of ranks.
	Ranks int
	Model Model
	// Payload gives the ranks real memory for their arguments and scratch buffers. Without Payload
	// these buffers have no contents, and messages from them carry no bytes. A message from memory
	// that the body has allocated itself always carries its bytes.
	Payload bool
	// MessagesMax is the largest number of messages of all ranks together: a simulation that sends
	// more ends with ErrMessages. 0 means no limit.
	MessagesMax int
}

// ErrMessages is the error of a simulation that sends more messages than Setup.MessagesMax.
var ErrMessages = errors.New("too many messages to simulate")

// errStopped ends the bodies of all ranks after the simulation has failed.
var errStopped = errors.New("the simulation has ended")

// network is the state of a simulation.
type network struct {
	Setup
	agenda     agenda
	ranks      []Rank
	processors []processor
	lanes      map[uint64]*lane
	spare      *envelope // list of envelopes for reuse
	scratch    region
	arguments  [Arguments]region
	// sent and received have one entry for each node: the times from which the node's outgoing and
	// incoming link to other nodes are free. The fields of the same names in Rank are for the links
	// of a rank within its node.
	sent, received []Time
	// contended is true if ranks share the links or processors of their node. In this case a rank
	// that sends or waits must first let the simulation process all earlier events of other ranks
	// (catchUp).
	contended bool
	// alone is true if only one rank runs and its messages take no time (see Alone).
	alone    bool
	messages int // sent by all ranks
	running  int // ranks that have not ended
	err      error
}

// Run calls body for every rank and returns the cost of all ranks. body must return the error of a
// Peer method that has failed. Run returns a *DeadlockError if ranks wait for each other, and a
// *LeftoverError if messages remain that no rank receives.
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
			debug.SetPanicOnFault(true) // applies to this goroutine only
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

// close releases the address space of scratch buffers and arguments.
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
			ranksOfNode := min(nodeSize, s.Ranks-r.node*nodeSize)
			r.processor = &n.processors[r.node*s.Model.Processors+i%nodeSize*s.Model.Processors/ranksOfNode]
			r.place = r.processor.ranks
			r.processor.ranks++
		}
	}
	for i := range n.processors {
		p := &n.processors[i]
		p.visit = span(s.Model.Visit + s.Model.VisitPerRank*float64(p.ranks))
		p.last, p.free = -1, -p.visit // so that the first visit, to the first rank, ends at time 0
	}
	return n
}

// happen processes one event.
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

// ports returns the times from which the outgoing and the incoming link between a rank and a peer are
// free. If both ranks are on the same node, the links are the rank's own. Otherwise they are the links
// of the rank's node.
func (n *network) ports(r *Rank, peer int) (sent, received *Time) {
	if n.ranks[peer].node == r.node {
		return &r.sent, &r.received
	}
	return &n.sent[r.node], &n.received[r.node]
}

// segment returns the costs of a message between two ranks. bytes is the length of the message.
func (n *network) segment(from, to, bytes int) *Segment {
	a, b := &n.ranks[from], &n.ranks[to]
	switch {
	case a.processor != nil && a.processor == b.processor && len(n.Model.Processor) > 0:
		return n.Model.Processor.of(bytes)
	case a.node == b.node && len(n.Model.Node) > 0:
		return n.Model.Node.of(bytes)
	}
	return n.Model.Network.of(bytes)
}

// demand records that the receiver has requested an offered message, and schedules its departure.
func (n *network) demand(m *envelope, now Time) {
	m.demanded = true
	n.agenda.add(event{at: now + span(m.segment.Handshake), kind: leaves, msg: m})
}

// leave puts a message on the sender's link, at once or when the link is free, and schedules its
// arrival.
func (n *network) leave(m *envelope, now Time) {
	link, _ := n.ports(&n.ranks[m.from], m.to)
	_, next := m.segment.occupancy(m.bytes)
	start := max(now, *link)
	*link = start + next
	n.agenda.add(event{at: start + span(m.segment.Latency), kind: arrives, msg: m})
}

// arrive puts a message on the receiver's link, at once or when the link is free. If the receiver waits
// for the message, arrive lets it continue at the time at which the message is complete.
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

// fail ends the simulation with err. If the simulation has already failed, the first error remains.
func (n *network) fail(err error) {
	if n.err == nil {
		n.err = err
	}
}
