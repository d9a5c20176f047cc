package shm

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// reach records how bulk operations reach the private memory of a peer.
type reach struct {
	// probed is true when direct and refusal are known.
	probed bool
	// direct is true if the probe, a process_vm_readv, has succeeded and no later process_vm_readv or
	// process_vm_writev was refused.
	direct bool
	// refusal is the reason if direct is false.
	refusal error
	// pid, cookie and cookieAt come from the peer's header: its process ID, the value of a
	// word of its private memory, and the address of that word.
	pid              int
	cookie, cookieAt uint64
	// proved is the time of the last proof that the process ID names the peer, counted from
	// Transport.born.
	proved time.Duration
	// lonely is true if the peer could not copy a chunk of a shared Get. This rank does not ask such a peer
	// for help again.
	lonely bool
	// skip is the number of Gets that this rank still makes without the peer before it asks the peer to
	// take part again. aloof is the value with which skip begins. aloof grows with each Get in which this
	// rank asked the peer and the peer did not poll.
	aloof, skip int
	// ops counts the operations that have not completed.
	ops int
}

var (
	errDisabled = errors.New("switched off")
	errStranger = errors.New("the process id of the peer names another process here")
)

// proofHolds is the time for which this rank relies on a proof that a process ID names the peer.
// The kernel reuses the ID of a reaped process only after it has used all other IDs. This takes
// some 32,000 new processes, and therefore seconds.
const proofHolds = 10 * time.Millisecond

// newCookie returns a word of random bits. A peer that reads the word at its address knows that it
// reads the memory of this process.
func newCookie() []uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return []uint64{binary.LittleEndian.Uint64(b[:])}
}

// direct reports whether bulk operations access the private memory of the peer by process_vm_readv
// and process_vm_writev. Unless these calls are switched off, or the ranks share one process, the first
// call of direct probes process_vm_readv: the word at the address in the peer's header must have the value
// in the header. process_vm_writev is not probed.
func (e *endpoint) direct() bool {
	r := &e.reach
	if r.probed {
		return r.direct
	}
	r.probed = true
	if e.t.cfg.DisableCMA || e.t.node.locals != nil {
		r.refusal = errDisabled
		return false
	}
	r.proved = time.Since(e.t.born)
	r.refusal = e.recognize()
	r.direct = r.refusal == nil
	return r.direct
}

// recognize returns nil if the process ID of the peer names the peer. Otherwise the error says why
// the ID does not name the peer, or why the memory of the process cannot be read.
func (e *endpoint) recognize() error {
	r := &e.reach
	if r.cookie == 0 { // loaded only once, because peers can write this word
		r.pid = int(int32(atomic.LoadUint64(e.control.word(offPID))))
		r.cookie = atomic.LoadUint64(e.control.word(offCookie))
		r.cookieAt = atomic.LoadUint64(e.control.word(offCookieAddr))
	}
	var b [8]byte
	n, err := e.t.reader(r.pid, b[:], r.cookieAt)
	switch {
	case err != nil && !errors.Is(err, syscall.EFAULT):
		return err
	case n != len(b) || binary.NativeEndian.Uint64(b[:]) != r.cookie || r.cookie == 0:
		return errStranger
	}
	return nil
}

// prove checks that the process ID of the peer still names the peer. If the last check was less
// than proofHolds ago, prove relies on that check. After the peer has ended and was reaped, another
// process may get the ID. If this rank was stopped meanwhile, that process may have the ID before
// this rank is notified of the loss.
func (e *endpoint) prove() error {
	now := time.Since(e.t.born)
	if now-e.reach.proved < proofHolds {
		return nil
	}
	err := e.recognize()
	if err == nil {
		e.reach.proved = now
	}
	return err
}

// read copies from private memory of the peer. It calls prove after the copy, because only a proof
// after the copy shows that the bytes come from the peer, or that the peer has no memory at addr.
func (e *endpoint) read(b []byte, addr uint64) (int, error) {
	n, err := e.t.reader(e.reach.pid, b, addr)
	if stranger := e.prove(); stranger != nil {
		return 0, stranger
	}
	return n, err
}

// write copies to private memory of the peer. It calls prove before the copy. There is one danger:
// this process may be stopped between prove and the copy for so long that the peer ends, is reaped,
// and its ID is reused. In this case write changes the memory of another process of the same user.
func (e *endpoint) write(b []byte, addr uint64) (int, error) {
	if err := e.prove(); err != nil {
		return 0, err
	}
	return e.t.writer(e.reach.pid, b, addr)
}

// refuse records that a direct copy failed with err although the probe had succeeded.
func (e *endpoint) refuse(err error) {
	e.reach.direct, e.reach.refusal = false, fmt.Errorf("refused after the probe: %w", err)
}

// stepDirect copies from or to private memory of a peer process.
func (t *Transport) stepDirect(op *bulkOp, left *int) {
	move := op.e.read
	if op.verb == verbPut {
		move = op.e.write
		if !op.listed() { // checked in each step, because the memory may be concealed between two steps
			op.fail(transport.ErrBadKey)
			return
		}
	}
	if n := min(len(op.buf)-op.done, *left); n > 0 {
		got, err := move(op.buf[op.done:op.done+n], op.key.Addr+uint64(op.done))
		if err != nil || got <= 0 {
			t.directFailed(op, err)
			op.finished = op.err != nil
			return
		}
		op.advance(got, left)
	} else {
		op.advance(0, left)
	}
	if op.finished {
		t.verify(op)
	}
}

// verify makes a Get fail if the memory that it has copied is not exposed, or is not exposed any
// more. It is called after the copy, because the memory may be concealed during the copy.
func (t *Transport) verify(op *bulkOp) {
	if op.verb == verbGet && !op.listed() {
		op.fail(transport.ErrBadKey)
	}
}

// listed reports whether the owner lists the memory that an operation names as exposed.
func (op *bulkOp) listed() bool {
	return listed(op.e.listing, op.key, len(op.buf), op.verb.access())
}

// directFailed handles the failure of a direct copy. err is nil if the call succeeded and copied no
// bytes. If the memory does not exist, the operation gets ErrBadKey. Any other error means that
// permission was not given or was withdrawn, or that the process has ended. Without permission, the operation
// continues through staging buffers; a shared or piped Get begins again. If the process has ended, the
// operation ends when the loss is reported.
func (t *Transport) directFailed(op *bulkOp, err error) {
	switch {
	case err == nil || errors.Is(err, syscall.EFAULT):
		op.err = t.failure(op.verb.String(), op.e.peer, transport.ErrBadKey)
	default:
		op.e.refuse(err)
		op.staged = true
		if op.way != wayPiped {
			op.asked = op.done
		}
	}
}
