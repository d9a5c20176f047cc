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

// device is an open RDMA device. It is used under the lock of its adapter (provider.Adapter). Attributes, Sleep, Wake
// and registrations do not need the lock.
type device struct {
	// name is the device's name in the kernel.
	name        string
	adapter     provider.Adapter
	context     adapter
	channel     channel
	connections *connection.Device
	attributes  provider.Attributes
	// completionsMost is the maximum size of one completion queue.
	completionsMost int

	queues []*completionQueue
	// pairs holds the open queue pairs by their numbers.
	pairs map[uint32]*queuePair
	// recent is the queue pair of the last completion.
	recent *queuePair
	// nextUser counts the queue pairs that were created.
	nextUser uint64
	// broken holds the queue pairs that have failed and whose connections still have to be ended.
	broken []*queuePair
	// quiet holds queue pairs on the passive side that must not send yet. Such a queue pair sends
	// no message until the active side has sent a message, or until the time quietMost has passed.
	quiet []*queuePair
	// waiting holds the completions that Idle has polled and that are not reported to the consumer
	// yet.
	waiting []uverbs.Completion
	// events decides which calls of Progress ask for events of the device.
	events connection.Cadence
	// port is the number of the port in use. announcesLast is true if the device is expected to raise
	// EventLastReceive after it has completed the last shared receive of a failed queue pair.
	port          int
	announcesLast bool
	// vainly is the total time of all waits for EventLastReceive in which the event did not come.
	vainly time.Duration
	// onDemand is true if the device can page memory that cannot be pinned.
	onDemand bool
	// failure is the reason why the device can no longer be used. removed is true when the consumer
	// was informed by EventRemoved.
	failure error
	removed bool
	// exists is true if there is a failure, and the device itself still exists.
	exists bool

	sends    [postMost]uverbs.SendRequest
	segments []uverbs.Segment // segmentsMax segments for each element of sends
	receives [postMost]uverbs.ReceiveRequest
	polled   [pollMost]uverbs.Completion

	// lingering counts the queue pairs that the kernel cannot destroy yet. A goroutine that Close
	// starts waits, by the wait group in the field ends, until these queue pairs are destroyed. left
	// holds the objects that could not be closed because of such a queue pair, in the order in which
	// they must be closed.
	lingering atomic.Int32
	left      []io.Closer
	ends      sync.WaitGroup

	wakeup int // eventfd
	// due is the time at which Sleep has to return, in Unix nanoseconds, or 0.
	due atomic.Int64
	// sources holds the descriptors that Sleep polls. deadline holds the remaining time for which
	// Sleep polls.
	sources  [4]unix.PollFd
	deadline unix.Timespec
}

var _ provider.Device = (*device)(nil)

const (
	// postMost is the maximum number of requests per doorbell, and pollMost the maximum number of
	// completions per poll.
	postMost = 16
	pollMost = 32
	// eventRounds and eventPeriod define how often Progress asks for events of the device: after
	// eventRounds calls, or after the time eventPeriod.
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
		d.attributes.MaxPinned = pinnedMost(p.device.Driver)
	}
	d.attributes.MaxRequestData, d.attributes.MaxAcceptData, d.attributes.MaxRejectData = d.connections.Limits()
	for i, fd := range []int{d.wakeup, d.channel.FD(), d.connections.Descriptor(), d.context.EventFD()} {
		d.sources[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	d.segments = make([]uverbs.Segment, postMost*d.attributes.MaxSegments)
	return nil
}

// happened passes an event to the consumer. It adds the name of the device to the reason of a
// removal, because a process may have several devices.
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

// Close implements provider.Device. If the kernel cannot destroy a queue pair yet, Close returns at
// once. After the queue pair is destroyed, a goroutine closes the remaining objects of the device,
// including the connections. The reason is that on iWARP the kernel waits for the end of a
// connection attempt before it can destroy the queue pair. The kernel waits for 10 s if the peer
// does not answer.
func (d *device) Close() error {
	if d.lingering.Load() == 0 {
		return d.end()
	}
	go func() {
		d.ends.Wait()
		_ = d.end() // the caller of Close has already returned
	}()
	return nil
}

// end closes the remaining objects of the device when all queue pairs are destroyed.
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
