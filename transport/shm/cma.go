package shm

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// reach is how bulk gets to the private memory of a peer.
type reach struct {
	// probed says that direct and refusal are known.
	probed bool
	direct bool
	// refusal says why there is no direct way.
	refusal error
	// What the peer's header says: its process id, and a word of its private memory
	// with the address of it.
	pid              int
	cookie, cookieAt uint64
	// proved is when the process was last seen to be the peer.
	proved time.Duration
	// lonely says that the peer cannot help with a Get.
	lonely bool
	// aloof grows with each Get during which the peer did not poll though it was
	// asked to take part; skip is how many to go before it is asked again.
	aloof, skip int
	// ops counts the operations under way.
	ops int
}

var (
	errDisabled = errors.New("switched off")
	errStranger = errors.New("the process id of the peer names another process here")
)

// proofHolds is how long the process id of a peer names it after it was seen to do so.
// When a process is reaped, the kernel gives its number away again after all the others
// were: some 32,000 new processes, which take seconds.
const proofHolds = 10 * time.Millisecond

// newCookie makes the word that proves to a peer that it reads our memory.
func newCookie() []uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return []uint64{binary.LittleEndian.Uint64(b[:])}
}

// direct says that the private memory of the peer can be read and written by
// process_vm_readv and process_vm_writev. It finds out on the first call: a
// word in the peer's memory must hold what the peer's header says.
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

// recognize says why the process id of the peer does not name the peer, if it does
// not.
func (e *endpoint) recognize() error {
	r := &e.reach
	if r.cookie == 0 { // loaded once: peers can write it
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

// prove checks that the process ID of the peer still names the peer: after it has ended and
// was reaped, another process may get the ID. That may be before this rank is notified of
// the loss, if this rank was stopped meanwhile.
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

// read copies from private memory of the peer. The proof comes after the copy: what
// was read, or is not there, is the peer's.
func (e *endpoint) read(b []byte, addr uint64) (int, error) {
	n, err := e.t.reader(e.reach.pid, b, addr)
	if stranger := e.prove(); stranger != nil {
		return 0, stranger
	}
	return n, err
}

// write copies to private memory of the peer. The proof comes before the copy. If this
// process is stopped between the two for so long that the peer ends, is reaped and its
// number is given away, it writes into the memory of another process of the same user.
func (e *endpoint) write(b []byte, addr uint64) (int, error) {
	if err := e.prove(); err != nil {
		return 0, err
	}
	return e.t.writer(e.reach.pid, b, addr)
}

// lives says that the peer, which was given up, is known to live.
func (e *endpoint) lives() bool {
	if e.t.cfg.DisableCMA || e.t.node.locals != nil {
		return false
	}
	return e.recognize() == nil && e.reach.pid != os.Getpid()
}

// refuse remembers that the direct way was closed after the probe.
func (e *endpoint) refuse(err error) {
	e.reach.direct, e.reach.refusal = false, fmt.Errorf("refused after the probe: %w", err)
}

// stepDirect copies from or to private memory of a peer process.
func (t *Transport) stepDirect(op *bulkOp, left *int) {
	move := op.e.read
	if op.verb == verbPut {
		move = op.e.write
		if op.done == 0 && !op.listed() {
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

// verify ends a Get that copied what was not exposed, or no longer, with an
// error. It comes after the copy, since the memory may be concealed meanwhile.
func (t *Transport) verify(op *bulkOp) {
	if op.verb == verbGet && !op.listed() {
		op.fail(transport.ErrBadKey)
	}
}

// listed says that the owner lists the peer's memory of an operation as exposed.
func (op *bulkOp) listed() bool {
	return listed(op.e.listing, op.key, len(op.buf), op.verb.access())
}

// directFailed judges the failure of a direct copy, err being nil when nothing
// was copied: memory that is not there is an error; if permission was taken
// back or the process is gone, the rest goes through staging buffers or ends
// with the report of the loss.
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
