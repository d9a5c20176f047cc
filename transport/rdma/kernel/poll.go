package kernel

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Progress implements provider.Progress.
func (d *device) Progress() (int, error) {
	n := d.poll()
	m, err := d.connections.Progress()
	if n += m; err != nil {
		return n, err
	}
	if len(d.quiet) > 0 {
		d.speak(time.Now())
	}
	if d.failure != nil || d.events.Due() {
		if err := d.takeEvents(); err != nil {
			return n, err
		}
	}
	for len(d.broken) > 0 {
		p := d.broken[len(d.broken)-1]
		d.broken = d.broken[:len(d.broken)-1]
		if !p.closed && !p.failed {
			p.Break(p.failure)
		}
		n++
	}
	return n, nil
}

// poll takes completions of all queues, as many as there are, and reports them.
func (d *device) poll() int {
	n := len(d.waiting)
	if n > 0 {
		waiting := d.waiting
		d.waiting = nil
		d.report(waiting)
	}
	for _, q := range d.queues {
		for {
			m := q.queue.Poll(d.polled[:])
			if m == 0 {
				break
			}
			n += m
			d.report(d.polled[:m])
			if m < len(d.polled) {
				break
			}
		}
	}
	return n
}

// report hands completions to their queue pairs.
func (d *device) report(list []uverbs.Completion) {
	reads := false
	for i := range list {
		c := &list[i]
		p := d.recent
		if p == nil || p.number != c.QueuePair {
			if p = d.pairs[c.QueuePair]; p == nil {
				continue // of one that has ended
			}
			d.recent = p
		}
		switch {
		case c.ID&^receiveBit>>numberBits != p.generation>>numberBits && (p.shared == nil || c.ID&receiveBit == 0):
			// Of an older one with the same number.
		case !p.established && !p.failed && c.Status == uverbs.StatusSuccess:
			// The peer's first messages are faster than the word that the connection stands.
			p.early = append(p.early, *c)
			p.Heard()
		case c.ID&receiveBit == 0:
			reads = p.sent(c) || reads
		case p.shared != nil:
			p.receivedShared(c)
		default:
			p.received(c)
		}
	}
	if reads {
		d.resume(list)
	}
}

// resume starts requests that have waited for Reads.
func (d *device) resume(list []uverbs.Completion) {
	var last uint32
	for i := range list {
		c := &list[i]
		if c.ID&receiveBit != 0 || c.QueuePair == last {
			continue
		}
		last = c.QueuePair
		if p := d.pairs[last]; p != nil {
			p.RequestsPosted()
		}
	}
}

// statuses translate those of the device.
var statuses = [...]provider.Status{
	uverbs.StatusSuccess: provider.StatusSuccess, uverbs.StatusFlushed: provider.StatusFlushed,
	uverbs.StatusLocalLength: provider.StatusLocalLength, uverbs.StatusLocalOperation: provider.StatusLocalProtection,
	uverbs.StatusLocalProtection: provider.StatusLocalProtection, uverbs.StatusLocalAccess: provider.StatusLocalProtection,
	uverbs.StatusRemoteInvalid: provider.StatusRemoteOperation, uverbs.StatusRemoteAccess: provider.StatusRemoteAccess,
	uverbs.StatusRemoteOperation: provider.StatusRemoteOperation, uverbs.StatusReceiverNotReady: provider.StatusReceiverNotReady,
	uverbs.StatusGeneral: provider.StatusTransport,
}

// statusOf is the status of a request that the device has failed.
func statusOf(s uverbs.Status) provider.Status {
	if int(s) < len(statuses) && statuses[s] != provider.StatusSuccess {
		return statuses[s]
	}
	return provider.StatusTransport
}

// sent reports a request done. It returns whether it was a Read, behind which others may
// wait.
func (p *queuePair) sent(c *uverbs.Completion) bool {
	if p.failed || p.ending || c.Status == uverbs.StatusFlushed {
		return false // package verbs flushes it when the connection ends
	}
	r := p.config.Sends.At(c.ID & numberMask)
	doneBefore(p.config.Sends, r)
	if c.Status != uverbs.StatusSuccess {
		p.config.Sends.Fail(r, statusOf(c.Status))
		p.end(fmt.Errorf("a request has failed: %v", statusOf(c.Status)))
		return false
	}
	waits := r.Op.Reads()
	p.config.Sends.Done(r)
	p.signals.underWay--
	if p.signals.draining {
		p.flush()
	}
	return waits
}

// received reports a message in a receive of the endpoint.
func (p *queuePair) received(c *uverbs.Completion) {
	if p.failed || p.ending || c.Status == uverbs.StatusFlushed {
		return
	}
	r := p.config.Receives.At(c.ID & numberMask)
	p.arrived(r, c)
}

// receivedShared reports a message in a receive of the shared queue, also one that the end
// of the connection has cut.
func (p *queuePair) receivedShared(c *uverbs.Completion) {
	r := p.shared.take(c.ID & numberMask)
	if r == nil {
		return
	}
	if p.failed || p.ending || c.Status == uverbs.StatusFlushed {
		p.config.Receives.Fail(r, provider.StatusFlushed)
		return
	}
	p.arrived(r, c)
}

func (p *queuePair) arrived(r *provider.Receive, c *uverbs.Completion) {
	if c.Status != uverbs.StatusSuccess {
		s := statusOf(c.Status)
		if c.Status == uverbs.StatusRemoteInvalid || c.Status == uverbs.StatusLocalOperation {
			s = provider.StatusLocalLength // rxe's words for a message that is too long
		}
		p.config.Receives.Fail(r, s)
		p.end(fmt.Errorf("a message could not be received: %v", s))
		return
	}
	if p.isQuiet {
		p.speak()
	}
	a := provider.Arrival{Length: int(c.Length)}
	if c.HasImmediate {
		a.Flags |= provider.FlagImmediate
		a.Immediate, a.Written = c.Immediate, c.Op == uverbs.CompletedReceiveImmediate
	}
	p.config.Receives.Done(r, a)
}
