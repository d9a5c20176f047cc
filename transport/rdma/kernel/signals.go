package kernel

import (
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// signals decides which requests of a queue pair are signalled. The device reports a completion
// only for a signalled request. Each request records in its Mark the number of unsignalled requests
// that directly precede it. The completion of a request means that these requests are done, too,
// because a device executes Sends and Writes in order. The only exception is siw, with which a Send
// or Write may complete before an earlier Read or atomic. Therefore a Read or atomic is always
// signalled.
type signals struct {
	// every is the maximum distance between signalled requests. Of this number of consecutive
	// requests, at least one is signalled, even if the consumer does not want its completion.
	// Without such completions the queue would never have room again.
	every int
	// silent counts the requests that were posted after the last signalled request. underWay counts
	// the signalled requests that are not complete. last is the number of the last request.
	silent, underWay int
	last             uint64
	// draining is true when no more requests are posted.
	draining bool
}

// signalsOf returns the signals of a queue for the given number of requests. The unsignalled
// requests after the last signalled request leave room for the request that flush posts.
func signalsOf(sends int) signals { return signals{every: max(sends/2, 1)} }

// flagsOf returns the device's flags for a request that is posted now.
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

// doneBefore reports that the unsignalled requests that directly precede a completed request are
// done.
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

// flush makes sure that the last requests complete. If the last requests are unsignalled and no
// signalled request is in flight, flush posts an empty Write. The completion of this Write shows
// that the last requests are done.
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
