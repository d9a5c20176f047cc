package collectives

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Each nonblocking operation runs on its own goroutine and sends messages with its own tag. Therefore
// any number of nonblocking operations may be in progress at the same time as a blocking operation. The
// caller may wait for the nonblocking operations in any order. All members must start the nonblocking
// operations in the same order. The request owns the buffers until it is complete. Wait and Test return
// the errors.

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

// idlePeers keeps the peers (type peer) of nonblocking operations that have ended. Later operations
// reuse the scratch memory of these peers, because new memory would cost page faults. The peers are
// garbage-collected with the group.
type idlePeers struct {
	rank, size int
	mu         sync.Mutex // guards the field all
	all        []*peer
}

// idleMax is the largest number of idle peers that a group keeps.
const idleMax = 4

// take returns an idle peer or, if no peer is idle, a new peer.
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

// put gives a peer back after an operation that ended without an error.
func (i *idlePeers) put(p *peer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p.comm = nil; len(i.all) < idleMax {
		i.all = append(i.all, p)
	}
}

// launch assigns the call its number and its algorithm before it returns, so that they agree at all
// members. A goroutine then executes the call by messages of p. The goroutine calls done when the call
// has ended without an error.
func (k *call) launch(p *peer, done func()) runtime.Request {
	g := k.group
	n, said := g.started.Add(1), k.statement()
	bears := label(g.comparable(said).Fingerprint(), n)
	g.nonblocking.note(n, said, bears, nil)
	under, site := k.recordStarted(n), *g.nonblocking.stack(n)
	p.tag = tagStarted + int(n%tagsStarted)
	p.label.Set(bears)
	reads, writes := k.memory()
	r := k.messageRule() // here, because Tune may change the table while the operation is in progress
	return runtime.NewRequestUsing(k.view, reads, writes, func(c *runtime.Comm) error {
		p.comm = c
		err := k.messages(p, r)
		under.End(err != nil)
		if err == nil {
			done()
			return nil
		}
		err = g.explain(c, err, &g.nonblocking, subjectStarted)
		c.Break(err)
		at := site // Line takes the address of at; if it took that of site, each operation would allocate site
		return fmt.Errorf("at %s: %w", at.Line(packagePath, runtimePath), refuse(k.op, lostWithin(c, err)))
	})
}

// memory returns the memory that the call reads and the memory that the call writes at this rank. If
// the blocks of a buffer have counts or displacements, memory returns nil for that buffer, because
// memory of other calls may lie between such blocks.
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

// messageRule returns the rule by which messages executes the call.
func (k *call) messageRule() *rule {
	s := k.group.messageSituation(k)
	return k.group.take(&s)
}

// messages executes the call by messages that p sends and receives, by the algorithm of r.
func (k *call) messages(p *peer, r *rule) error {
	args := k.Call
	separate(&args, r, &p.copied)
	return r.message.Run(p, &args)
}
