package collectives

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/runtime"
)

// Each nonblocking operation runs on its own goroutine, or in Wait, and sends messages with its own tag. Therefore
// any number of nonblocking operations may be in progress at the same time as a blocking operation. The
// caller may wait for the nonblocking operations in any order. All members must start the nonblocking
// operations in the same order. The request owns the buffers until it is complete. Wait and Test return
// the errors.

// start starts the call.
func (k *call) start() runtime.Request {
	if k.err != nil {
		err := refuse(k.op, k.err)
		return runtime.NewRequest(k.comm, func(*runtime.Comm) error { return err })
	}
	s := k.group.idle.take()
	s.call, s.pool = *k, &k.group.idle
	return s.launch()
}

// started is a nonblocking operation. Later operations of the group can reuse its memory.
type started struct {
	call
	peer  peer
	pool  *idleStarted // gets the memory after an operation without an error; nil for a persistent operation
	rule  *rule
	under flight.Started
	site  callsite.Site
	fn    func(*runtime.Comm) error // the method run
}

// newStarted returns new memory for an operation.
func newStarted(rank, size int) *started {
	s := &started{peer: peer{rank: rank, size: size}}
	s.fn = s.run
	return s
}

// idleStarted keeps the memory of nonblocking operations that have ended, because new memory, above all the
// scratch memory of a peer, would cost page faults. It is garbage-collected with the group.
type idleStarted struct {
	rank, size int
	mu         sync.Mutex // guards the field all
	all        []*started
}

// idleMax is the largest number of idle operations that a group keeps.
const idleMax = 4

// take returns the memory of an idle operation or, if there is none, new memory.
func (i *idleStarted) take() *started {
	i.mu.Lock()
	defer i.mu.Unlock()
	last := len(i.all) - 1
	if last < 0 {
		return newStarted(i.rank, i.size)
	}
	s := i.all[last]
	i.all = i.all[:last]
	return s
}

// put takes back the memory of an operation that has ended without an error.
func (i *idleStarted) put(s *started) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.all) < idleMax {
		s.call, s.peer.comm = call{}, nil
		i.all = append(i.all, s)
	}
}

// launch assigns the call its number and its algorithm before it returns, so that they agree at all
// members. Afterwards another goroutine, or Wait, executes the call by messages.
func (s *started) launch() runtime.Request {
	if s.view.Err() != nil { // a persistent operation on a communicator that is broken or closed
		return runtime.NewRequestUsing(s.view, nil, nil, s.fn) // refuses, and does not call s.fn
	}
	g := s.group
	n, said := g.started.Add(1), s.statement()
	bears := label(g.comparable(said).Fingerprint(), n)
	g.nonblocking.note(n, said, bears, nil)
	s.under, s.site = s.recordStarted(n), *g.nonblocking.stack(n)
	s.peer.tag = tagStarted + int(n%tagsStarted)
	s.peer.label.Set(bears)
	s.rule = s.messageRule() // here, because Tune may change the table while the operation is in progress
	reads, writes := s.memory()
	if g.compared {
		g.flies.wake(flying{g})
	}
	return runtime.NewRequestUsing(s.view, reads, writes, s.fn)
}

// run executes the call. c is the view through which it sends and receives.
func (s *started) run(c *runtime.Comm) error {
	s.peer.comm = c
	err := guard(func() error { return s.messages(&s.peer, s.rule) }, func(why error) {
		s.end(why)
		c.Break(why)
	})
	s.end(err)
	if err == nil {
		if s.pool != nil {
			s.pool.put(s)
		}
		return nil
	}
	err = s.group.explain(c, err, &s.group.nonblocking, subjectStarted)
	c.Break(err)
	return fmt.Errorf("at %s: %w", s.site.Line(packagePath, runtimePath), refuse(s.op, lostWithin(c, err)))
}

// end records that the call has ended with err.
func (s *started) end(err error) {
	s.group.ended.Add(1)
	s.under.End(err != nil)
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

// messageRule returns the rule by which the method messages executes the call.
func (k *call) messageRule() *rule {
	s := k.group.messageSituation(k)
	return k.group.take(&s)
}

// messages executes the call by messages that p sends and receives, by the algorithm of r.
func (k *call) messages(p *peer, r *rule) error {
	send := k.Send
	separate(&k.Call, r, &p.copied)
	err := r.message.Run(p, &k.Call)
	k.Send = send // a persistent operation starts again
	return err
}
