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

// poll polls all completion queues until they are empty, and reports the completions.
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

// report passes completions to their queue pairs.
func (d *device) report(list []uverbs.Completion) {
	reads := false
	for i := range list {
		c := &list[i]
		p := d.recent
		if p == nil || p.number != c.QueuePair {
			if p = d.pairs[c.QueuePair]; p == nil {
				continue // the queue pair was closed
			}
			d.recent = p
		}
		switch {
		case c.ID&^receiveBit>>numberBits != p.generation>>numberBits && (p.shared == nil || c.ID&receiveBit == 0):
			// The completion is for an older queue pair that had the same number.
		case !p.established && !p.failed:
			// The completion is kept, because the peer's first messages can arrive before the event
			// that reports that the connection is established. A completion with an error is kept, too,
			// because receives must be reported in order.
			p.early = append(p.early, *c)
			if c.Status == uverbs.StatusSuccess {
				p.Heard()
			}
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

// resume posts requests that had to wait for the Reads or atomics whose completions are in the
// list.
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

// statuses maps the statuses of the device to the statuses of package provider.
var statuses = [...]provider.Status{
	uverbs.StatusSuccess: provider.StatusSuccess, uverbs.StatusFlushed: provider.StatusFlushed,
	uverbs.StatusLocalLength: provider.StatusLocalLength, uverbs.StatusLocalOperation: provider.StatusLocalProtection,
	uverbs.StatusLocalProtection: provider.StatusLocalProtection, uverbs.StatusLocalAccess: provider.StatusLocalProtection,
	uverbs.StatusRemoteInvalid: provider.StatusRemoteOperation, uverbs.StatusRemoteAccess: provider.StatusRemoteAccess,
	uverbs.StatusRemoteOperation: provider.StatusRemoteOperation, uverbs.StatusReceiverNotReady: provider.StatusReceiverNotReady,
	uverbs.StatusGeneral: provider.StatusTransport,
}

// statusOf returns the status with which a failed request or receive is reported. s is the status that the
// device has reported.
func statusOf(s uverbs.Status) provider.Status {
	if int(s) < len(statuses) && statuses[s] != provider.StatusSuccess {
		return statuses[s]
	}
	return provider.StatusTransport
}

// sent reports the request of a completion, and the unsignalled requests before it, to package
// verbs. It returns true if the request was a Read or an atomic, because other requests may wait
// for the completion of a Read or atomic.
func (p *queuePair) sent(c *uverbs.Completion) bool {
	if p.failed || p.ending || c.Status == uverbs.StatusFlushed {
		return false // package verbs flushes the request when the connection ends
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

// received reports a message that has consumed a receive of the endpoint.
func (p *queuePair) received(c *uverbs.Completion) {
	if p.failed || p.ending || c.Status == uverbs.StatusFlushed {
		return
	}
	r := p.config.Receives.At(c.ID & numberMask)
	p.arrived(r, c)
}

// receivedShared reports a message that has consumed a receive of the shared receive queue. It also
// reports a receive that the device has flushed because the connection ended.
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
			s = provider.StatusLocalLength // rxe reports a message that is too long with one of these statuses
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
