package virtual

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Rank is a rank of a simulation: a message.Peer with a clock of its own. Only the body that Run or
// Alone calls with a Rank may call its methods.
type Rank struct {
	net       *network
	id, node  int
	processor *processor // nil if the rank has a processor of its own
	place     int        // index of this rank among the ranks of its processor
	// now is the rank's clock. The clock may be ahead of the event that is being processed if no
	// other rank can observe the difference.
	now, started, ended Time
	// sent and received are the times from which the rank's outgoing and incoming link within its
	// node are free.
	sent, received Time
	waits          Wait
	waiting, done  bool
	scratch        []byte
	buffers        int // bytes of the buffers that Argument has returned
	exchanges      []started
	cost           Cost

	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
}

var _ message.Peer = (*Rank)(nil)

// Rank implements message.Peer.
func (r *Rank) Rank() int { return r.id }

// Size implements message.Peer.
func (r *Rank) Size() int { return r.net.Ranks }

// Now returns the virtual time of the rank.
func (r *Rank) Now() Time { return r.now }

// Send implements message.Peer.
func (r *Rank) Send(to int, b []byte) error {
	m, err := r.post(to, b)
	if err != nil {
		return err
	}
	return r.settle(m)
}

// Recv implements message.Peer.
func (r *Rank) Recv(from int, b []byte) error {
	if from < 0 || from >= r.Size() {
		return fmt.Errorf("rank %d receives from rank %d of %d", r.id, from, r.Size())
	}
	if r.net.alone {
		r.cost.Received++
		r.cost.ReceivedBytes += len(b)
		return nil
	}
	m, err := r.await(from, len(b))
	if err != nil {
		return err
	}
	if m.bytes != len(b) {
		return fmt.Errorf("rank %d sent %d bytes to rank %d, which receives %d", from, m.bytes, r.id, len(b))
	}
	copy(b, m.payload)
	r.work(m.segment.overhead(m.segment.RecvPerByte+r.missing(), m.bytes))
	r.cost.Received++
	r.cost.ReceivedBytes += m.bytes
	r.net.take(m)
	if !m.segment.Rendezvous {
		r.net.recycle(m)
		return nil
	}
	m.released = true
	if sender := &r.net.ranks[m.from]; sender.waiting && sender.waits.message == m {
		sender.wake(r.now + span(m.segment.Latency))
	} else {
		m.at = r.now + span(m.segment.Latency)
	}
	return nil
}

// Exchange implements message.Peer.
func (r *Rank) Exchange(to int, out []byte, from int, in []byte) error {
	m, err := r.post(to, out)
	if err != nil {
		return err
	}
	if err := r.Recv(from, in); err != nil {
		return err
	}
	return r.settle(m)
}

// started is an exchange that Start has begun and Complete has to end. The field sent is nil if the exchange only
// receives, and from is message.Nobody if it only sends.
type started struct {
	sent *envelope
	from int
	in   []byte
}

// Start implements message.Peer.
func (r *Rank) Start(to int, out []byte, from int, in []byte) error {
	var m *envelope
	var err error
	if to != message.Nobody {
		m, err = r.post(to, out)
	}
	r.exchanges = append(r.exchanges, started{m, from, in})
	return err
}

// Complete implements message.Peer.
func (r *Rank) Complete() error {
	for _, e := range r.exchanges {
		if e.from == message.Nobody {
			continue
		}
		if err := r.Recv(e.from, e.in); err != nil {
			return err
		}
	}
	for _, e := range r.exchanges {
		if err := r.settle(e.sent); err != nil {
			return err
		}
	}
	r.exchanges = r.exchanges[:0]
	return nil
}

// Argument returns n bytes for buffer i of the operation. i is less than Arguments. With payload, the
// bytes are zero. Without payload, all ranks get the same address space for the same i. Buffers with
// different i do not overlap.
func (r *Rank) Argument(i, n int) []byte {
	r.buffers += n
	if r.net.Payload {
		return make([]byte, n)
	}
	return r.without(&r.net.arguments[i], n)
}

// Arguments is the number of buffers of an operation.
const Arguments = 2

// without returns n bytes of a region, which is address space without memory. If the region cannot
// provide them, without ends the simulation and the rank's body.
func (r *Rank) without(g *region, n int) []byte {
	b, err := g.bytes(n)
	if err != nil {
		r.net.fail(fmt.Errorf("memory of rank %d: %w", r.id, err))
		panic(errStopped)
	}
	return b
}

// Scratch implements message.Peer. With payload, all bytes are 0xee, so that a test fails if an
// algorithm expects zeros.
func (r *Rank) Scratch(n int) []byte {
	r.cost.Scratch = max(r.cost.Scratch, n)
	if !r.net.Payload {
		return r.without(&r.net.scratch, n)
	}
	r.scratch = make([]byte, n)
	for i := range r.scratch {
		r.scratch[i] = 0xee
	}
	return r.scratch
}

// Copy implements message.Peer.
func (r *Rank) Copy(dst, src []byte) int {
	n := min(len(dst), len(src))
	if same, _ := kernel.Overlap(dst, src); same || n == 0 {
		return n
	}
	r.work(span((r.net.Model.Copy + r.missing()) * float64(n)))
	r.cost.Copied += n
	r.cost.Steps++
	if r.net.Payload {
		copy(dst, src)
	}
	return n
}

// without reports whether b is address space without memory. With payload, it returns false.
func (n *network) without(b []byte) bool {
	for _, g := range []*region{&n.scratch, &n.arguments[0], &n.arguments[1]} {
		if g.has(b) {
			return true
		}
	}
	return false
}

// Reduction returns a copy of a reduction. The copy's Fn also advances the rank's clock and counts the
// bytes. Without payload, the copy's Fn combines nothing.
func (r *Rank) Reduction(of message.Reduction) message.Reduction {
	fn := of.Fn
	of.Fn = func(dst, a, b []byte) {
		r.work(span((r.net.Model.Combine + r.missing()) * float64(len(dst))))
		r.cost.Combined += len(dst)
		r.cost.Steps++
		if r.net.Payload {
			fn(dst, a, b)
		}
	}
	return of
}

// post sends a message. It returns the message if settle has to wait until the receiver has received
// it, as in a rendezvous. Otherwise it returns nil, because the receiver recycles the message.
func (r *Rank) post(to int, b []byte) (*envelope, error) {
	n := r.net
	if to < 0 || to >= r.Size() {
		return nil, fmt.Errorf("rank %d sends to rank %d of %d", r.id, to, r.Size())
	}
	if n.alone {
		r.cost.Sent++
		r.cost.SentBytes += len(b)
		return nil, nil
	}
	if n.messages++; n.MessagesMax > 0 && n.messages > n.MessagesMax {
		n.fail(fmt.Errorf("%w: %d ranks send more than %d", ErrMessages, r.Size(), n.MessagesMax))
		return nil, errStopped
	}
	s := n.segment(r.id, to, len(b))
	r.work(s.overhead(s.SendPerByte, len(b)))
	if err := r.catchUp(); err != nil {
		return nil, err
	}
	r.cost.Sent++
	r.cost.SentBytes += len(b)
	m := n.send(r.id, to, b, s)
	if s.Rendezvous {
		n.agenda.add(event{at: r.now + span(s.Latency), kind: offers, msg: m})
		return m, nil
	}
	n.leave(m, r.now)
	return nil, nil
}

// settle waits until the sender may change the buffer of m, and recycles m. If m is nil, settle
// returns at once.
func (r *Rank) settle(m *envelope) error {
	if m == nil {
		return nil
	}
	if err := r.catchUp(); err != nil {
		return err
	}
	if !m.released {
		r.waits = Wait{Rank: r.id, Peer: m.to, Sends: true, Bytes: m.bytes, message: m}
		if err := r.wait(); err != nil {
			return err
		}
	} else if err := r.until(m.at); err != nil {
		return err
	}
	r.net.recycle(m)
	return nil
}

// await returns the next message from a rank when it is complete. bytes is the length that this rank
// expects, for the description of the wait.
func (r *Rank) await(from, bytes int) (*envelope, error) {
	if err := r.catchUp(); err != nil {
		return nil, err
	}
	l := r.net.lane(from, r.id)
	m := l.first
	if m != nil && m.arrived {
		return m, r.until(m.at)
	}
	if m != nil && m.offered && !m.demanded {
		r.net.demand(m, r.now)
	}
	l.receiver = r
	r.waits = Wait{Rank: r.id, Peer: from, Bytes: bytes}
	err := r.wait()
	l.receiver = nil
	return l.first, err
}

// until suspends the rank until its clock has reached the time given by at.
func (r *Rank) until(at Time) error {
	if at <= r.now {
		return nil
	}
	if !r.net.contended {
		r.now = at
		return nil
	}
	r.net.agenda.add(event{at: at, kind: wakes, rank: r})
	r.waits = Wait{}
	return r.wait()
}

// work advances the rank's clock by t and counts t as processor time.
func (r *Rank) work(t Time) {
	r.now += t
	r.cost.Busy += t
}

// catchUp suspends the rank until all events up to the rank's time have been processed. If ranks
// share neither links nor processors, it does nothing.
func (r *Rank) catchUp() error {
	if n := r.net; !n.contended || n.agenda.empty() || n.agenda.first() > r.now {
		return nil
	}
	r.net.agenda.add(event{at: r.now, kind: runs, rank: r})
	return r.pause()
}

// wait releases the processor and suspends the rank until wake is called or an event occurs that the
// caller has scheduled.
func (r *Rank) wait() error {
	r.waiting = true
	if r.processor != nil {
		r.processor.release(r)
	}
	return r.pause()
}

// pause suspends the rank until run is called. If the simulation ends while the rank is suspended,
// pause returns errStopped.
func (r *Rank) pause() error {
	if !r.yield(struct{}{}) {
		return errStopped
	}
	return nil
}

// wake ends the rank's wait at the later of two times: the argument at, and the time of the rank's clock.
func (r *Rank) wake(at Time) {
	r.waiting = false
	r.net.agenda.add(event{at: max(at, r.now), kind: wakes, rank: r})
}

// run resumes the rank at the time given by at, and returns when the rank is suspended or has ended.
func (r *Rank) run(at Time) {
	r.now, r.waiting = at, false
	if r.started < 0 {
		r.started = at
	}
	r.resume()
}

// finish records that the rank's body has returned err.
func (r *Rank) finish(err error) {
	if err == nil {
		err = r.catchUp()
	}
	r.ended, r.done = r.now, true
	r.net.running--
	if err != nil && !errors.Is(err, errStopped) {
		r.net.fail(fmt.Errorf("rank %d of %d: %w", r.id, r.Size(), err))
	}
	if r.processor != nil {
		r.processor.release(r)
	}
}

// firstPage is a limit: a fault at an address below firstPage is treated as the dereference of a nil
// pointer.
const firstPage = 4096

// recovered turns a memory fault of the rank's body into ErrTouched, because buffers without payload
// have no memory. It ends a panic of errStopped. A fault near address 0 and any other panic continue as a panic.
func (r *Rank) recovered() {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, errStopped) {
		return
	}
	if fault, ok := p.(interface{ Addr() uintptr }); ok && fault.Addr() >= firstPage {
		r.net.fail(fmt.Errorf("%w: rank %d of %d: %v", ErrTouched, r.id, r.Size(), p))
		return
	}
	panic(p)
}

// ErrTouched is the error of an algorithm that cannot run without payload, because it accesses its
// buffers directly.
var ErrTouched = errors.New("the algorithm reads or writes buffers without Peer.Copy and its Reduction")
