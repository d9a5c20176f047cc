package shm

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
)

// reach is how bulk gets to the private memory of a peer.
type reach struct {
	// probed says that direct and refusal are known.
	probed bool
	direct bool
	// refusal says why there is no direct way.
	refusal error
	pid     int
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

// newCookie makes the word that proves to a peer that it reads our memory.
func newCookie() []uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return []uint64{binary.LittleEndian.Uint64(b[:])}
}

// alone says that a Get needs nothing of the peer's processor, as far as known.
func (e *endpoint) alone() bool {
	if e.t.cfg.DisableCMA {
		return false
	}
	return e.t.node.locals != nil || !e.reach.probed || e.reach.direct
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
	r.pid = int(int32(atomic.LoadUint64(e.control.word(offPID))))
	cookie := atomic.LoadUint64(e.control.word(offCookie))
	at := atomic.LoadUint64(e.control.word(offCookieAddr))
	var b [8]byte
	n, err := e.t.reader(r.pid, b[:], at)
	switch {
	case err != nil:
		r.refusal = err
	case n != len(b) || binary.NativeEndian.Uint64(b[:]) != cookie || cookie == 0:
		r.refusal = errStranger
	}
	r.direct = r.refusal == nil
	return r.direct
}

// refuse remembers that the direct way was closed after the probe.
func (e *endpoint) refuse(err error) {
	e.reach.direct, e.reach.refusal = false, fmt.Errorf("refused after the probe: %w", err)
}

// stepDirect copies from or to private memory of a peer process.
func (t *Transport) stepDirect(op *bulkOp, left *int) {
	move := t.reader
	if op.verb == verbPut {
		move = t.writer
		if op.done == 0 && !op.listed() {
			op.fail(transport.ErrBadKey)
			return
		}
	}
	if n := min(len(op.buf)-op.done, *left); n > 0 {
		got, err := move(op.e.reach.pid, op.buf[op.done:op.done+n], op.key.Addr+uint64(op.done))
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
	case err == nil || errors.Is(err, unix.EFAULT):
		op.err = t.failure(op.verb.String(), op.e.peer, transport.ErrBadKey)
	default:
		op.e.refuse(err)
		op.staged = true
		if op.way != wayPiped {
			op.asked = op.done
		}
	}
}
