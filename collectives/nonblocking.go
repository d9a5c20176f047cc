package collectives

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// The nonblocking operations run on goroutines of their own with messages of their own, so
// that any number of them may be under way beside a blocking one, and be waited for in any
// order. All members start them in the same order. Until the request is complete its
// buffers belong to it. Errors come from Wait.

// start starts the call on a goroutine of its own.
func (k *call) start() runtime.Request {
	if k.err != nil {
		err := refuse(k.op, k.err)
		return runtime.NewRequest(k.comm, func(*runtime.Comm) error { return err })
	}
	own := *k
	p := own.group.idle.take()
	return own.launch(p, func() { own.group.idle.put(p) })
}

// idlePeers are peers whose operations have ended: the next ones need no scratch memory of their own,
// whose pages the kernel would have to make, and which is collected with the group.
type idlePeers struct {
	rank, size int
	mu         sync.Mutex // guards all
	all        []*peer
}

// idleMax is how many are kept.
const idleMax = 4

// take returns an idle peer, or a new one.
func (i *idlePeers) take() *peer {
	i.mu.Lock()
	defer i.mu.Unlock()
	last := len(i.all) - 1
	if last < 0 {
		return &peer{rank: i.rank, size: i.size}
	}
	p := i.all[last]
	i.all = i.all[:last]
	return p
}

// put gives a peer back after an operation without an error.
func (i *idlePeers) put(p *peer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p.comm = nil; len(i.all) < idleMax {
		i.all = append(i.all, p)
	}
}

// launch numbers the call before anything else, so that the numbers agree at all members,
// and runs it through p. It calls done after the end, unless the call failed.
func (k *call) launch(p *peer, done func()) runtime.Request {
	g := k.group
	n, said := g.started.Add(1), k.statement()
	bears := label(g.comparable(said).Fingerprint(), n)
	g.nonblocking.note(n, said, bears, nil)
	under := k.recordStarted(n)
	p.tag = tagStarted + int(n%tagsStarted)
	p.label.Set(bears)
	reads, writes := k.memory()
	return runtime.NewRequestUsing(k.view, reads, writes, func(c *runtime.Comm) error {
		p.comm = c
		err := k.messages(p)
		under.End(err != nil)
		if err == nil {
			done()
			return nil
		}
		err = g.explain(c, err, &g.nonblocking, subjectStarted)
		c.Break(err)
		started, _ := g.nonblocking.of(n % labelNumbers)
		return fmt.Errorf("at %s: %w", started.line, refuse(k.op, lostWithin(c, err)))
	})
}

// memory returns what the call reads and writes at this rank, but blocks with displacements, between which there may be
// memory of other calls.
func (k *call) memory() (reads, writes []byte) {
	reads, writes = k.Send, k.Recv
	atRoot := k.group.rank == k.Root
	switch k.op {
	case message.Bcast:
		if atRoot {
			return k.Recv, nil
		}
		return nil, k.Recv
	case message.Reduce, message.Gather, message.GatherV:
		if !atRoot {
			writes = nil
		}
	case message.Scatter, message.ScatterV:
		if !atRoot {
			reads = nil
		}
	case message.ExScan:
		if k.group.rank == 0 {
			writes = nil
		}
	default:
	}
	if !k.SendParts.Even() {
		reads = nil
	}
	if !k.RecvParts.Even() {
		writes = nil
	}
	return reads, writes
}

// messages carries the call out by messages of p.
func (k *call) messages(p *peer) error {
	s := k.group.situation(k)
	s.near, s.nested, s.inOrder = false, false, false
	r, args := k.group.take(&s), k.Call
	separate(&args, r, &p.copied)
	return r.message.Run(p, &args)
}
