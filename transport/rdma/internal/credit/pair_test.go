package credit_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
)

type kind uint8

const (
	eager kind = iota
	update
	goodbye
)

// frame is a frame in flight. Its payload is the number of its message.
type frame struct {
	kind    kind
	word    credit.Word
	payload int
}

// node is one of the two ends of a pair.
type node struct {
	flow      credit.Flow
	slots     []int // the payload of the frame in each slot
	taken     int   // number of messages accepted so far, to be compared with the state of the flow
	delivered int   // number of messages of the peer delivered so far
	held      int   // number of eager receives that are used and not posted again
	quota     int   // number of messages still to be accepted
}

// pair is a pair of ranks: two nodes and the connection between them. toward[i] holds the frames in flight to
// node i.
type pair struct {
	node   [2]node
	toward [2][]frame
	window [2]int // number of credits that each node grants at the start of a connection
	breaks int
	widens int
}

func newPair(slots, window [2]int, quota, breaks, widens int) *pair {
	p := &pair{window: window, breaks: breaks, widens: widens}
	for i := range p.node {
		p.node[i] = node{flow: *credit.New(slots[i]), slots: make([]int, slots[i]), quota: quota}
	}
	p.connect()
	return p
}

func (p *pair) connect() {
	for i := range p.node {
		p.node[i].flow.Connect(p.window[i], p.window[1-i], len(p.node[1-i].slots))
		p.node[i].held, p.toward[i] = 0, nil
	}
}

func (p *pair) clone() *pair {
	c := *p
	for i := range c.node {
		c.node[i].slots = slices.Clone(c.node[i].slots)
		c.toward[i] = slices.Clone(c.toward[i])
	}
	return &c
}

// state is the state of a pair as a comparable value. The search uses it to recognize states that it has already
// visited.
type state struct {
	flow                          [2]credit.Flow
	taken, delivered, held, quota [2]int
	breaks, widens                int
	slots, toward                 [2]string
}

func (p *pair) state() state {
	s := state{breaks: p.breaks, widens: p.widens}
	for i := range p.node {
		n := &p.node[i]
		s.flow[i], s.taken[i], s.delivered[i], s.held[i], s.quota[i] = n.flow, n.taken, n.delivered, n.held, n.quota
		var b []byte
		for _, payload := range n.slots {
			b = binary.AppendVarint(b, int64(payload))
		}
		s.slots[i], b = string(b), nil
		for _, f := range p.toward[i] {
			b = binary.AppendUvarint(append(b, byte(f.kind)), uint64(f.word))
			b = binary.AppendVarint(b, int64(f.payload))
		}
		s.toward[i] = string(b)
	}
	return s
}

// take accepts another message at node i.
func (p *pair) take(i int) bool {
	n := &p.node[i]
	if n.quota == 0 {
		return false
	}
	sequence, ok := n.flow.Take()
	if ok {
		n.slots[n.flow.Slot(sequence)] = n.taken
		n.taken++
		n.quota--
	}
	return ok
}

// put sends the next message of node i.
func (p *pair) put(i int) bool {
	n := &p.node[i]
	w, ok := n.flow.Next()
	if ok {
		p.toward[1-i] = append(p.toward[1-i], frame{eager, w, n.slots[n.flow.Slot(w.Sequence())]})
	}
	return ok
}

func (p *pair) update(i int) {
	p.toward[1-i] = append(p.toward[1-i], frame{kind: update, word: p.node[i].flow.Update()})
}

// deliver passes the first frame in flight to node i to this node.
func (p *pair) deliver(i int) error {
	n, f := &p.node[i], p.toward[i][0]
	p.toward[i] = p.toward[i][1:]
	switch f.kind {
	case update:
		_, err := n.flow.ArriveUpdate(f.word)
		return err
	case goodbye:
		_, err := n.flow.ArriveGoodbye(f.word)
		return err
	case eager:
	}
	n.held++
	verdict, err := arrive(&n.flow, f.word)
	switch {
	case err != nil:
		return err
	case verdict == credit.Duplicate:
		return fmt.Errorf("message %d arrived twice", f.payload)
	case verdict == credit.Deliver && f.payload != n.delivered:
		return fmt.Errorf("message %d was delivered where %d was due", f.payload, n.delivered)
	case verdict == credit.Deliver:
		n.delivered++
	}
	return nil
}

// arrive calls Flow.Arrive, and checks Flow.Accept: for a frame with the verdict Deliver, Accept has the same
// result as Arrive, and Accept accepts no other frame.
func arrive(f *credit.Flow, w credit.Word) (credit.Verdict, error) {
	before, short := *f, *f
	accepted, ok := short.Accept(w)
	verdict, freed, err := f.Arrive(w)
	switch {
	case ok != (err == nil && verdict == credit.Deliver):
		return 0, fmt.Errorf("Accept says %t of a frame with verdict %d (and an error: %t)", ok, verdict, err != nil)
	case ok && (accepted != freed || short != *f), !ok && short != before:
		return 0, fmt.Errorf("Accept frees %d of %d and leaves %+v, not %+v", accepted, freed, short, *f)
	}
	return verdict, err
}

// giveBack posts n receives of node i again.
func (p *pair) giveBack(i, n int) {
	p.node[i].held -= n
	p.node[i].flow.Return(n)
}

// check tests the invariant that every frame that may still arrive finds a receive.
func (p *pair) check() error {
	for i := range p.node {
		n := &p.node[i]
		reserved, granted := 0, n.held
		for _, f := range p.toward[i] {
			if f.kind == eager {
				granted++
			} else {
				reserved++
			}
		}
		if granted > n.flow.Window() || reserved > credit.Reserve {
			return fmt.Errorf("node %d has to hold %d frames and %d for control, with a window of %d and %d",
				i, granted, reserved, n.flow.Window(), credit.Reserve)
		}
		if n.delivered > p.node[1-i].taken {
			return errors.New("more was delivered than sent")
		}
	}
	return nil
}

// calm runs both ends until nothing is left to do. If owed is true, the ends send the updates that are due and
// the updates that they owe. Otherwise they send only the updates that are due.
func (p *pair) calm(owed bool) error {
	for moved := true; moved; {
		moved = false
		for i := range p.node {
			n := &p.node[i]
			for len(p.toward[i]) > 0 {
				moved = true
				if err := p.deliver(i); err != nil {
					return err
				}
			}
			p.giveBack(i, n.held)
			for n.flow.Due() {
				moved = true
				p.update(i)
			}
			for p.take(i) || p.put(i) {
				moved = true
			}
			if owed && n.flow.Owed() {
				moved = true
				p.update(i)
			}
			if err := p.check(); err != nil {
				return err
			}
		}
	}
	for i := range p.node {
		n := &p.node[i]
		if n.quota > 0 || n.taken != p.node[1-i].delivered {
			return fmt.Errorf("stuck: node %d took %d, %d were delivered, %d more to take: %+v", i, n.taken, p.node[1-i].delivered, n.quota, n.flow)
		}
		if owed && n.flow.Unacknowledged() != 0 {
			return fmt.Errorf("node %d waits for %d acknowledgements: %+v", i, n.flow.Unacknowledged(), n.flow)
		}
	}
	return nil
}
