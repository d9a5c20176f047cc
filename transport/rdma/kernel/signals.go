package kernel

import (
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// signals decides which requests of a queue pair are signalled, so that the device completes
// them. Between two of those, none is; each request has in its Mark how many directly before
// it are not. A completion says that they are done, too: a device carries out Sends and
// Writes in order, of which an earlier Read or atomic of siw is the only exception, and that
// one is always signalled.
type signals struct {
	// every is how often a request is signalled whatever the consumer wants, so that the
	// queue has room again.
	every int
	// silent counts the requests behind the last one that is signalled, underWay those that
	// are signalled and not complete. last is the number of the last request.
	silent, underWay int
	last             uint64
	// draining says that no more are posted.
	draining bool
}

// signalsOf are those of a queue for so many requests. The requests behind the last one that
// is signalled leave room for that of flush.
func signalsOf(sends int) signals { return signals{every: max(sends/2, 1)} }

// flagsOf are the flags of a request that is posted now.
func (s *signals) flagsOf(r *provider.Request) uverbs.Flags {
	r.Mark, s.last = uint64(s.silent), r.Number
	s.silent++
	if r.Flags&provider.FlagUnsignalled != 0 && !r.Op.Reads() && s.silent < s.every && !s.draining {
		return 0
	}
	s.silent = 0
	s.underWay++
	return uverbs.FlagSignalled
}

// doneBefore reports those done that a completion of a request says so of.
func doneBefore(sends provider.Sends, r *provider.Request) {
	for n := r.Number - r.Mark; n < r.Number; n++ {
		sends.Done(sends.At(n))
	}
}

// Drain implements provider.QueuePair.
func (p *queuePair) Drain() {
	p.signals.draining = true
	p.flush()
}

// flush sees to a completion of the last requests, if they have none to come: it posts an
// empty Write, whose completion counts as that of the last of them.
func (p *queuePair) flush() {
	s := &p.signals
	if s.silent == 0 || s.underWay > 0 || p.failed {
		return
	}
	s.silent = 0
	s.underWay++
	list := [...]uverbs.SendRequest{{ID: p.generation | s.last&numberMask, Op: uverbs.OpWrite, Flags: uverbs.FlagSignalled}}
	if _, err := p.pair.PostSends(list[:]); err != nil {
		p.end(err)
	}
}
