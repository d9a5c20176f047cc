package nulldevice

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// device is a host's interface adapter.
type device struct {
	fabric     *Fabric
	adapter    provider.Adapter
	addr       netip.Addr
	discard    bool
	carried    func()
	rate       float64 // bytes per second, 0 without a limit
	attributes provider.Attributes

	// done are requests of this side that are complete and not reported, spareDone the memory
	// of the list before. They are used under the adapter's lock.
	done, spareDone []completion
	// free is when the link has carried all requests so far.
	free time.Time
	// idle says that a goroutine may sleep, which awake ends.
	idle  atomic.Bool
	awake chan struct{}

	// wire guards what peers use, on top of the adapter's lock: the rest, and receives and
	// receiving of its queue pairs.
	wire    sync.Mutex
	pending atomic.Bool
	events  []event
	spare   []event
	regions map[uint32]*region
	key     uint32
	closed  bool
}

var _ provider.Device = (*device)(nil)

// completion is that of a request, and of all before it, at a time: the zero one is at once.
type completion struct {
	pair   *pair
	number uint64
	due    time.Time
}

// reportDue reports the completions that are due, and returns how many.
func (d *device) reportDue() int {
	n := len(d.done)
	if d.rate > 0 {
		now := time.Now()
		for n = 0; n < len(d.done) && !d.done[n].due.After(now); n++ {
		}
	}
	list := d.done
	d.done = d.spareDone[:0]
	d.done = append(d.done, list[n:]...)
	for i := range list[:n] {
		list[i].report()
	}
	clear(list)
	d.spareDone = list
	return n
}

// transfer has the link carry the bytes of a request.
func (d *device) transfer(bytes int) {
	if d.rate == 0 {
		return
	}
	if now := time.Now(); d.free.Before(now) {
		d.free = now
	}
	d.free = d.free.Add(time.Duration(float64(bytes) / d.rate * 1e9))
}

// report reports a completion, unless its queue pair has ended.
func (c *completion) report() {
	if !c.pair.ended {
		c.pair.config.Sends.DoneBefore(c.number + 1)
	}
}

// report reports the completions of a queue pair that ends.
func (d *device) report(p *pair) {
	for i := range d.done {
		if d.done[i].pair == p {
			d.done[i].report()
		}
	}
}

// event is what a peer has left to be reported: a message, or something to run.
type event struct {
	pair    *pair
	receive *provider.Receive
	arrival provider.Arrival
	status  provider.Status
	run     func()
	// lost is run if the device closes before it came to run.
	lost func()
}

// Attributes implements provider.Device.
func (d *device) Attributes() provider.Attributes { return d.attributes }

// tell leaves something to be run by the next Progress of a device, and reports whether there
// is one.
func (d *device) tell(run, lost func()) bool {
	d.wire.Lock()
	closed := d.closed
	if !closed {
		d.push(event{run: run, lost: lost})
	}
	d.wire.Unlock()
	d.rouse()
	return !closed
}

// push leaves an event. The wire is locked.
func (d *device) push(e event) {
	d.events = append(d.events, e)
	if !d.pending.Load() {
		d.pending.Store(true)
	}
}

// rouse wakes a goroutine that may sleep.
func (d *device) rouse() {
	if d.idle.Load() && d.idle.Swap(false) {
		d.Wake()
	}
}

// Progress implements provider.Progress.
func (d *device) Progress() (int, error) {
	n := 0
	if len(d.done) > 0 {
		n = d.reportDue()
	}
	if !d.pending.Load() {
		return n, nil
	}
	d.wire.Lock()
	list := d.events
	d.events = d.spare[:0]
	d.pending.Store(false)
	d.wire.Unlock()
	for i := range list {
		list[i].report()
	}
	n += len(list)
	clear(list)
	d.spare = list
	return n, nil
}

// report makes the upcalls of an event.
func (e *event) report() {
	switch {
	case e.run != nil:
		e.run()
	case e.pair.ended:
		e.pair.flush(e)
	case e.status != provider.StatusSuccess:
		e.pair.config.Receives.Fail(e.receive, e.status)
	default:
		e.pair.config.Receives.Done(e.receive, e.arrival)
	}
}

// Idle implements provider.Progress.
func (d *device) Idle() bool {
	d.idle.Store(true)
	if len(d.done) == 0 && !d.pending.Load() {
		return true
	}
	d.idle.Store(false)
	return false
}

// Sleep implements provider.Progress.
func (d *device) Sleep(until time.Time) {
	if until.IsZero() {
		<-d.awake
		return
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-d.awake:
	case <-t.C:
	}
}

// Wake implements provider.Progress.
func (d *device) Wake() {
	select {
	case d.awake <- struct{}{}:
	default:
	}
}

// Close implements provider.Device.
func (d *device) Close() error {
	d.wire.Lock()
	events := d.events
	d.events, d.closed = nil, true
	d.wire.Unlock()
	for i := range events {
		if events[i].lost != nil {
			events[i].lost()
		}
	}
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	delete(d.fabric.hosts, d.addr)
	return nil
}
