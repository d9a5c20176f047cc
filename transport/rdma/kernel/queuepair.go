package kernel

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// queuePair is one end of one connection.
type queuePair struct {
	*connection.Connection

	device     *device
	config     provider.QueuePairConfig
	domain     *domain
	pair       pair
	number     uint32
	queue      *completionQueue
	shared     *sharedReceives
	generation uint64
	// user identifies the queue pair in events of the device.
	user uint64
	// sends and receives are the numbers of entries reserved in the completion queue.
	sends, receives int
	signals         signals
	// spare holds the bytes of inline requests that the device cannot take inline.
	spare *spare
	// failed is true when the queue pair posts no requests and reports no completions any more.
	// ending is true when Progress has to break the connection, and failure is the reason. closed
	// is true when the queue pair is destroyed.
	failed, ending, closed bool
	// halted is true when the device was told to move the queue pair to the error state. last is
	// true when the device has reported that the halted queue pair consumes no more shared receives.
	// receiving is true when the queue pair may have consumed shared receives.
	halted, last, receiving bool
	failure                 error
	// established is true when package verbs knows of the connection. early holds the completions
	// that arrived before package verbs knew of it.
	established bool
	early       []uverbs.Completion
	// isQuiet is true while requests are held back. They are held back until the active side has
	// sent a message, at the latest until the time quietUntil.
	isQuiet    bool
	quietUntil time.Time
}

var (
	_ provider.QueuePair = (*queuePair)(nil)
	_ connection.Pair    = (*queuePair)(nil)
)

// The parts of a wr_id (see doc.go).
const (
	numberBits     = 48
	numberMask     = 1<<numberBits - 1
	receiveBit     = 1 << 63
	generationMask = 1<<15 - 1
)

// NewQueuePair implements provider.Device.
func (d *device) NewQueuePair(c provider.QueuePairConfig) (provider.QueuePair, provider.EndpointAttributes, error) {
	a := c.Attributes
	p := &queuePair{device: d, config: c, domain: c.Domain.(*domain)}
	var shared receives
	p.sends, p.receives = max(a.MaxRequests, 1), a.MaxReceives
	if c.Shared != nil {
		p.shared = c.Shared.(*sharedReceives)
		shared, p.receives = p.shared.queue, p.shared.capacity
	}
	p.signals = signalsOf(p.sends)
	var err error
	if p.queue, err = d.reserve(p.sends, p.receives, p.shared); err != nil {
		return nil, a, err
	}
	d.nextUser++
	p.generation = d.nextUser & generationMask << numberBits
	made, err := d.context.newPair(&pairConfig{
		domain: p.domain.domain, queue: p.queue.queue, shared: shared, user: d.nextUser,
		capacity: uverbs.Capacity{
			Sends: p.sends, Receives: a.MaxReceives, SendSegments: max(a.MaxRequestSegments, 1), ReceiveSegments: a.MaxReceiveSegments, Inline: a.MaxInline,
		},
	})
	if err != nil {
		p.queue.release(p.sends, p.receives, p.shared)
		return nil, a, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	p.pair, p.number, p.user = made.pair, made.number, d.nextUser
	if err := p.prepare(); err != nil {
		_ = p.pair.Close() // the error of prepare is returned
		p.queue.release(p.sends, p.receives, p.shared)
		return nil, a, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	d.pairs[p.number] = p
	p.Connection = d.connections.NewConnection(p, (*outcome)(p))
	if a.ReadsIn == provider.DepthDefault {
		a.ReadsIn = d.attributes.MaxReadsIn
	}
	if a.ReadsOut == provider.DepthDefault {
		a.ReadsOut = d.attributes.MaxReadsOut
	}
	return p, a, nil
}

// prepare moves the queue pair to the state Init, in which receives can be posted. In the first
// state, Reset, adapters of InfiniBand and RoCE reject or lose receives (InfiniBand 1.4, section
// 10.3.1). When the connection is made, Modify enters Init once more, to set the other attributes
// of Init.
func (p *queuePair) prepare() error {
	if p.device.attributes.ActiveSpeaksFirst {
		return nil // iWARP
	}
	return p.pair.Modify(&uverbs.PairAttributes{
		Mask: uverbs.MaskState | uverbs.MaskPkeyIndex | uverbs.MaskPort | uverbs.MaskAccess, State: uverbs.StateInit, Port: uint8(p.device.port),
	})
}

// Number implements connection.Pair.
func (p *queuePair) Number() uint32 { return p.number }

// SharesReceives implements connection.Pair.
func (p *queuePair) SharesReceives() bool { return p.shared != nil }

// Modify implements connection.Pair. It sets the RNR timer to rnrTimerCode, because the connection
// manager leaves the timer at code 0, which means 655 ms (cm_init_qp_rtr_attr).
func (p *queuePair) Modify(a *rdmacm.Attributes) error {
	if a.Mask == 0 {
		return nil // the kernel modifies the queue pair
	}
	p.receiving = p.receiving || uverbs.State(a.State) == uverbs.StateReceive
	h := &a.Address
	return p.pair.Modify(&uverbs.PairAttributes{
		Mask: uverbs.Mask(a.Mask), State: uverbs.State(a.State), PathMTU: uint8(a.PathMTU), Qkey: a.QKey,
		ReceivePSN: a.ReceivePSN, SendPSN: a.SendPSN, Remote: a.DestinationQP, Access: uverbs.Access(a.Access), PkeyIndex: a.PKeyIndex,
		Path: uverbs.Path{
			GID: h.DGID, FlowLabel: h.FlowLabel, LID: h.DLID, GIDIndex: h.SGIDIndex, HopLimit: h.HopLimit, TrafficClass: h.TrafficClass,
			ServiceLevel: h.ServiceLevel, PathBits: h.SourcePathBits, StaticRate: h.StaticRate, Port: h.Port, Global: h.Global,
		},
		ReadsOut: a.Reads, ReadsIn: a.ReadsServed, RNRTimer: rnrTimerCode, Port: a.Port, Timeout: a.Timeout,
		Retries: a.RetryCount, RNRRetries: a.RNRRetryCount,
	})
}

// Take implements connection.Pair. It reports the completions that have arrived, and breaks the
// connection if the device has ended it.
func (p *queuePair) Take() {
	p.device.poll()
	// An error concerns the whole device, and Progress reports it.
	_ = p.device.takeEvents()
	if state, err := p.pair.QueryState(); err == nil && state == uverbs.StateError {
		p.end(errEnded)
	}
	if p.ending && !p.failed {
		p.Break(p.failure)
	}
}

// errEnded is the reason for which a connection is broken when the device has moved its queue pair
// to the error state.
var errEnded = errors.New("the device has ended the connection after an error")

// Fail implements connection.Pair. It moves the queue pair to the error state, so that the device
// executes no posted request any more.
func (p *queuePair) Fail() {
	if p.halted {
		return
	}
	p.halted = true
	// An error means that the device and its queue pairs are gone.
	if d := p.device; p.pair.SetState(uverbs.StateError) == nil {
		began := time.Now()
		if p.awaitLast(began.Add(lastMost - d.vainly)) {
			d.vainly += time.Since(began)
		}
	}
	p.device.poll()
	p.failed = true
	// Because p has failed, report delivers no message for these completions. It only gives the
	// shared receives back.
	early := p.early
	p.early = nil
	p.device.report(early)
}

// lastMost bounds the total time for which this package waits in vain for EventLastReceive. All failed
// queue pairs of a device share this bound. The device normally needs microseconds for each queue pair.
// The wait holds the adapter's lock. Without a bound, a device that never announces the last receive
// would block the adapter.
const lastMost = 20 * time.Millisecond

// awaitLast waits until all shared receives that the queue pair has consumed are complete. The wait
// is necessary, because a receive that is not complete when the queue pair is destroyed never
// completes (InfiniBand 1.4, section 10.3.1.5). awaitLast returns true if it has waited until the
// deadline without success.
func (p *queuePair) awaitLast(until time.Time) bool {
	d := p.device
	if p.shared == nil || !p.receiving || !d.announcesLast {
		return false
	}
	for {
		// An error concerns the whole device, and Progress reports it.
		_ = d.takeEvents()
		if p.last || d.failure != nil {
			return false
		}
		left := time.Until(until)
		if left <= 0 {
			return true
		}
		wait := []unix.PollFd{{Fd: int32(d.context.EventFD()), Events: unix.POLLIN}}
		// The next takeEvents finds the reason for the end of the wait.
		_, _ = unix.Poll(wait, int(left/time.Millisecond)+1)
	}
}

// Abort implements provider.QueuePair. Requests whose completions were not reported yet count as
// flushed.
func (p *queuePair) Abort() {
	p.failed = true
	p.Connection.Abort()
	p.Fail()
}

// Close implements provider.QueuePair. Close ends the connection first, because the kernel keeps an
// iWARP queue pair as long as a connection refers to it.
func (p *queuePair) Close() {
	if p.closed {
		return
	}
	p.Abort()
	p.closed = true
	p.device.poll() // libibverbs removes the completions of a destroyed queue pair from its completion queue
	p.destroy()
	p.device.poll()
	delete(p.device.pairs, p.number)
	if p.device.recent == p {
		p.device.recent = nil
	}
	p.queue.release(p.sends, p.receives, p.shared)
	p.spare.close()
}

// destroy destroys the queue pair in the kernel. If a connect is in progress that cannot be
// interrupted, the system call blocks. In this case a goroutine makes the call.
func (p *queuePair) destroy() {
	// If the call fails, the kernel destroys the queue pair when the device is closed.
	if !p.Busy() {
		_ = p.pair.Close()
		return
	}
	p.linger()
}

// linger starts a goroutine that destroys the queue pair. The device is closed only after this
// goroutine has ended: see device.Close.
func (p *queuePair) linger() {
	p.device.lingering.Add(1)
	p.device.ends.Add(1)
	go func() {
		defer p.device.ends.Done()
		defer p.device.lingering.Add(-1)
		_ = p.pair.Close()
	}()
}
