package kernel

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// device is an open adapter. It is used under the lock of its adapter, but for Sleep and
// Wake, and for registrations.
type device struct {
	// name is the kernel's.
	name        string
	adapter     provider.Adapter
	context     adapter
	channel     channel
	connections *connection.Device
	attributes  provider.Attributes
	// completionsMost bounds one completion queue.
	completionsMost int

	queues []*completionQueue
	// pairs are those that are open, by their numbers.
	pairs map[uint32]*queuePair
	// recent is the pair that completed something last.
	recent *queuePair
	// nextUser counts the queue pairs that were made.
	nextUser uint64
	// broken are queue pairs with a failed request, whose connections are to be ended.
	broken []*queuePair
	// quiet are queue pairs that wait for the active side to speak.
	quiet []*queuePair
	// waiting is what Idle has found.
	waiting []uverbs.Completion
	// events are the calls of Progress that look for events.
	events connection.Cadence
	// port is the number of the port that is used, announcesLast says that the device has an
	// event for the last shared receive of a queue pair that has failed.
	port          int
	announcesLast bool
	// vainly is for how long such an event was waited for that did not come.
	vainly time.Duration
	// onDemand says that the device pages memory that cannot be pinned.
	onDemand bool
	// failure is why the device cannot be used any more, removed that this was said.
	failure error
	removed bool
	// queueFailed says that failure is that of a queue.
	queueFailed bool

	sends    [postMost]uverbs.SendRequest
	segments []uverbs.Segment // segmentsMax for each of sends
	receives [postMost]uverbs.ReceiveRequest
	polled   [pollMost]uverbs.Completion

	// lingering counts queue pairs that the kernel cannot end yet, left is what could not be
	// ended because of one, in the order in which it can be, ends waits for them.
	lingering atomic.Int32
	left      []io.Closer
	ends      sync.WaitGroup

	wakeup int // eventfd
	// due is when Sleep has to end, in Unix nanoseconds, or 0.
	due atomic.Int64
	// sources are what Sleep waits for, deadline until when.
	sources  [4]unix.PollFd
	deadline unix.Timespec
}

var _ provider.Device = (*device)(nil)

const (
	// postMost is how many requests one doorbell starts, pollMost how many completions one
	// poll takes.
	postMost = 16
	pollMost = 32
	// eventRounds and eventPeriod are how often the events of the device are looked for.
	eventRounds = 1024
	eventPeriod = 10 * time.Millisecond
)

func open(name string, p place, a provider.Adapter, byLibrary bool) (*device, error) {
	d := &device{adapter: a, pairs: map[uint32]*queuePair{}, wakeup: -1, events: connection.Cadence{Most: eventRounds, Period: eventPeriod}}
	err := d.start(name, p, byLibrary)
	if err != nil {
		_ = d.Close() // the first error counts
		return nil, err
	}
	return d, nil
}

func (d *device) start(name string, p place, byLibrary bool) error {
	context, way, err := openAdapter(&p.device, byLibrary)
	if err != nil {
		return err
	}
	d.context, d.name, d.port = context, p.device.Name, p.site.Port
	d.announcesLast = p.device.Driver != uverbs.DriverSIW && p.device.Driver != uverbs.DriverRXE
	limits, err := d.context.Attributes()
	if err != nil {
		return err
	}
	port, err := d.context.Port(d.port)
	if err != nil {
		return err
	}
	inline, err := d.context.inline()
	if err != nil {
		return err
	}
	if d.channel, err = d.context.newChannel(); err != nil {
		return err
	}
	if d.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("kernel: eventfd: %w", err)
	}
	manager, err := rdmacm.Open()
	if err != nil {
		return err
	}
	d.connections = connection.New(connection.Config{
		Channel: manager, GUID: p.device.GUID, IWARP: p.device.Transport == uverbs.TransportIWARP, Addresses: p.prefixes,
		Interface: p.site.Interface, Wake: d.wake, Happened: d.happened,
	})
	d.completionsMost = limits.MaxCompletions
	d.attributes = attributesOf(name, p, &limits, &port, inline)
	d.attributes.Transport = fmt.Sprintf("%v %s, %v", p.device.Driver, way, &p)
	d.onDemand, d.attributes.PinsMemory = d.context.OnDemand(), true
	if !d.onDemand {
		d.attributes.MaxPinned = pinnedMost()
	}
	d.attributes.MaxRequestData, d.attributes.MaxAcceptData, d.attributes.MaxRejectData = d.connections.Limits()
	for i, fd := range []int{d.wakeup, d.channel.FD(), d.connections.Descriptor(), d.context.EventFD()} {
		d.sources[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	d.segments = make([]uverbs.Segment, postMost*d.attributes.MaxSegments)
	return nil
}

// happened passes an event on. The reason of a removal names the device: a process may have
// several.
func (d *device) happened(e provider.Event) {
	if e.Kind == provider.EventRemoved {
		e.Err = fmt.Errorf("device %s: %w", d.name, e.Err)
	}
	d.adapter.Happened(e)
}

// Attributes implements provider.Device.
func (d *device) Attributes() provider.Attributes { return d.attributes }

// Listen implements provider.Device.
func (d *device) Listen(c provider.ServicePointConfig) (provider.ServicePoint, error) {
	return d.connections.Listen(c)
}

// Close implements provider.Device. What a lingering queue pair needs ends after it, in the
// background, connections among it: the kernel waits for the end of an attempt on iWARP, 10 s
// if the peer does not answer, before it lets go of them.
func (d *device) Close() error {
	if d.lingering.Load() == 0 {
		return d.end()
	}
	go func() {
		d.ends.Wait()
		_ = d.end() // nobody is left to tell
	}()
	return nil
}

// end ends what is left when no queue pair is.
func (d *device) end() error {
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	if d.connections != nil {
		keep(d.connections.Close())
	}
	for _, o := range d.left {
		keep(o.Close())
	}
	d.left = nil
	for _, q := range d.queues {
		keep(q.queue.Close())
	}
	d.queues = nil
	if d.channel != nil {
		keep(d.channel.Close())
	}
	if d.context != nil {
		keep(d.context.Close())
	}
	if d.wakeup >= 0 {
		keep(unix.Close(d.wakeup))
	}
	return first
}
