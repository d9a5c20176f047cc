package nulldevice

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// device implements provider.Device: the adapter of a Host.
type device struct {
	fabric     *Fabric
	addr       netip.Addr
	discard    bool
	carried    func()
	rate       float64 // bytes per second, 0 without a limit
	attributes provider.Attributes

	// done holds the unreported completions of this device's requests. spareDone is
	// the memory of the previous list, for reuse. The adapter's lock guards both.
	done, spareDone []completion
	// free is the time at which the link will have carried all requests that were posted so far.
	free time.Time
	// idle is true while a goroutine may sleep in Sleep. A value in awake wakes it.
	idle  atomic.Bool
	awake chan struct{}

	// wire guards the state that peers also access: the fields below, and the fields receives and receiving
	// of the device's queue pairs. A goroutine that locks wire holds the lock of this adapter or of a peer's
	// adapter, except in Register and Deregister, which are called without a lock of an adapter.
	wire    sync.Mutex
	pending atomic.Bool
	events  []event
	spare   []event
	regions map[uint32]*region
	key     uint32
	closed  bool
}

var _ provider.Device = (*device)(nil)

// completion reports the end of a request of a queue pair and of all earlier requests of this queue pair.
type completion struct {
	pair   *pair
	number uint64    // the number of the request
	due    time.Time // when the completion is reported; zero: at once
}

// reportDue reports the completions that are due, and returns their number.
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

// transfer advances the field free by the time in which the link carries the bytes of a request.
func (d *device) transfer(bytes int) {
	if d.rate == 0 {
		return
	}
	if now := time.Now(); d.free.Before(now) {
		d.free = now
	}
	d.free = d.free.Add(time.Duration(float64(bytes) / d.rate * 1e9))
}

// report reports a completion. It does nothing if the queue pair of the completion has ended.
func (c *completion) report() {
	if !c.pair.ended {
		c.pair.config.Sends.DoneBefore(c.number + 1)
	}
}

// report reports all completions of a queue pair that ends, including completions that are not due yet.
func (d *device) report(p *pair) {
	for i := range d.done {
		if d.done[i].pair == p {
			d.done[i].report()
		}
	}
}

// event is an entry of the queue that the device's next Progress empties. The event is either a message from
// a peer, which Progress reports, or a function, which Progress calls.
type event struct {
	pair    *pair
	receive *provider.Receive
	arrival provider.Arrival
	status  provider.Status
	run     func()
	// lost is called instead of run if the device closes before it has called run. lost may be nil.
	lost func()
}

// Attributes implements provider.Device.
func (d *device) Attributes() provider.Attributes { return d.attributes }

// tell enqueues the function run for the next Progress of the device, and reports whether the device is
// open. If it is closed, neither run nor lost is called.
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

// push enqueues an event. The caller holds the mutex wire.
func (d *device) push(e event) {
	d.events = append(d.events, e)
	if !d.pending.Load() {
		d.pending.Store(true)
	}
}

// rouse wakes the goroutine that may be in Sleep.
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

// report calls the function of an event, or reports its message to the consumer.
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
