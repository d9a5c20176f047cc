package iwarp

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Limits of a device. No hardware imposes these limits. Most of them bound the memory of the device.
const (
	messageMax     = 1 << 30 // DDP allows less than 2^32 bytes, but kernels count the bytes in an int
	requestsMax    = 16384
	receivesMax    = 65536
	segmentsMax    = 16
	inlineMax      = 256
	depthMax       = 128 // the maximum of siw; a larger depth has no advantage
	depthDefault   = 16
	completionsMax = 1 << 20
	// privateDataMax is the maximum length of private data that this side sends. It is the length
	// that Linux accepts in addition to the depths IRD and ORD (MPA_MAX_PRIVDATA of
	// linux/drivers/infiniband/sw/siw/iwarp.h). Linux's rdma_cm stores the length in 8 bits. If
	// this side sends 253 bytes, Linux ends the connection and gives no reason. If this side sends
	// 300 bytes in a reject, a Linux kernel with siw crashes. A peer may send up to 508 bytes of
	// private data with an enhanced set-up, and 512 bytes otherwise, the maximum of MPA.
	privateDataMax = 256 - mpa.EnhancedLength

	// headroom is the length of the headers before the payload of an untagged segment.
	headroom = mpa.HeaderLength + ddp.UntaggedLength

	stagingLength = 32 << 10
	eventsMax     = 64
	// flushMost bounds the time for which Close of a device waits for the log.
	flushMost = time.Second
)

// device is an open network interface. A device, like all objects that are made from it, is used
// only under the lock of its adapter. The exceptions are Attributes, Sleep, Wake and the Address of a
// service point, which need no lock, and Register and Deregister of domain, which take the lock
// themselves.
type device struct {
	provider  *Provider
	adapter   provider.Adapter
	config    Config
	counters  *Counters
	name      string
	addresses addresses
	epoll     int
	unpacked  []byte // a ULPDU whose payload was compressed; nil before the first such ULPDU
	wakeup    int    // eventfd

	regions regions
	timers  timers
	// pairs contains the queue pairs that have a socket.
	pairs map[*queuePair]struct{}
	// goodbyes contains the sockets that their queue pairs have given up, the oldest first.
	goodbyes []*goodbye
	agenda   agenda
	// hot contains the queue pairs that most recently received data. hot.go explains what they are
	// used for.
	hot [hotMax]*queuePair
	// rounds counts the calls of Progress.
	rounds uint

	// staging receives bytes whose target in registered memory is not known yet. The method read
	// fills staging, and processes all these bytes before it returns.
	staging []byte
	vector  [segmentsMax + 1]unix.Iovec
	// plaintext collects the bytes that are encrypted together. No byte stays in plaintext after
	// the write.
	plaintext []byte
	// spare is the memory that batches without unwritten bytes have returned.
	spare  []batchMemory
	events [eventsMax]unix.EpollEvent

	// napping becomes true when Idle returns true. It becomes false when the following Sleep ends,
	// or when stir wakes this Sleep. due is the time at which the Sleep has to end, in Unix
	// nanoseconds, or 0 for no limit.
	napping atomic.Bool
	due     atomic.Int64
	// slept contains the descriptors on which Sleep waits.
	slept [2]unix.PollFd
}

var _ provider.Device = (*device)(nil)

func newDevice(p *Provider, name string, at addresses, a provider.Adapter) (*device, error) {
	d := &device{
		provider: p, adapter: a, config: p.config, counters: &p.counters, name: name, addresses: at, epoll: -1, wakeup: -1,
		pairs: map[*queuePair]struct{}{}, staging: make([]byte, stagingLength),
	}
	var err error
	if d.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("iwarp: epoll: %w", err)
	}
	if d.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = unix.Close(d.epoll) // the error of Eventfd is returned
		return nil, fmt.Errorf("iwarp: eventfd: %w", err)
	}
	return d, nil
}

// Attributes implements provider.Device.
func (d *device) Attributes() provider.Attributes {
	return provider.Attributes{
		Provider: Name, Interface: d.name,
		Services:   []provider.Service{provider.ServiceReliable},
		QoS:        []provider.QoS{provider.QoSBestEffort},
		MaxMessage: messageMax, MaxRDMA: messageMax,
		MaxRequests: requestsMax, MaxReceives: receivesMax,
		MaxSegments: segmentsMax, MaxReadSegments: segmentsMax, MaxInline: inlineMax,
		Headroom: headroom, Tailroom: mpa.TrailerMax,
		MaxReadsIn: depthMax, MaxReadsOut: depthMax,
		MaxSharedReceives: receivesMax, MaxCompletions: completionsMax,
		MaxRequestData: privateDataMax, MaxAcceptData: privateDataMax, MaxRejectData: privateDataMax,
		ActiveSpeaksFirst: true,
		Transport:         fmt.Sprintf("MPA revision %d over TCP, %v", d.config.Revision, d.addresses.first()),
		Endpoint: provider.EndpointAttributes{
			MaxMessage: messageMax, MaxRDMA: messageMax, MaxReceives: 128, MaxRequests: 128,
			MaxReceiveSegments: 4, MaxRequestSegments: 4, MaxInline: 64, ReadsIn: depthDefault, ReadsOut: depthDefault,
		},
	}
}

// NewQueuePair implements provider.Device. It grants all requested attributes.
func (d *device) NewQueuePair(c provider.QueuePairConfig) (provider.QueuePair, provider.EndpointAttributes, error) {
	p := &queuePair{device: d, config: c, domain: c.Domain.(*domain), fd: -1}
	p.shared, _ = c.Shared.(*sharedReceives)
	p.timer.owner = p
	return p, c.Attributes, nil
}

// Close implements provider.Device.
func (d *device) Close() error {
	for len(d.goodbyes) > 0 {
		d.goodbyes[0].end()
	}
	for p := range d.pairs {
		p.Abort()
	}
	err := unix.Close(d.epoll)
	if e := unix.Close(d.wakeup); err == nil {
		err = e
	}
	d.provider.log.Flush(flushMost) // Flush may block here, because no goroutine waits for this adapter any more
	if err != nil {
		return fmt.Errorf("iwarp: close: %w", err)
	}
	return nil
}
