package shm

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/transport"
)

// pollBytes is the approximate number of bytes of bulk operations that one Poll copies.
const pollBytes = 1 << 20

// verb is the kind of a bulk operation.
type verb uint8

const (
	verbGet verb = iota
	verbPut
	verbAdd
)

// String returns the name of the operation in errors.
func (v verb) String() string { return [...]string{"get", "put", "fetch-add"}[v] }

// access returns the right that the operation needs.
func (v verb) access() transport.Access {
	return [...]transport.Access{transport.AccessRead, transport.AccessWrite, transport.AccessAtomic}[v]
}

// bulkOp is a Get, Put or FetchAdd that has not completed.
type bulkOp struct {
	e    *endpoint
	verb verb
	// buf is the local memory. key names the peer's memory.
	buf   []byte
	key   transport.Key
	token uint64
	// done counts the bytes that were copied.
	done int
	// value is the delta of a FetchAdd. When the FetchAdd is done, value is the old value of the
	// word.
	value uint64
	// finished is true if the operation has ended and has to be completed, with the error err.
	finished bool
	err      error
	// staged is true if the operation goes through staging buffers. asked is the number of bytes that
	// have been requested from the peer or, in a piped Get, chosen for a direct copy. pieces is the
	// number of requests in flight. waiting is true if this rank cannot advance the operation before
	// an answer of the peer arrives.
	staged        bool
	asked, pieces int
	waiting       bool
	// restart is true if the operation has to begin again, because direct copies were refused in the
	// middle of it. readDirectly is true if this rank has read bytes of a staged operation directly.
	// The owner has not checked the key for these bytes.
	restart, readDirectly bool
	// idle counts the steps in which this rank waited for the owner: in a staged operation, the
	// consecutive steps without an answer. stalled is true if the owner seems to be stopped in the
	// middle of its copy, see stall.
	idle    int
	stalled bool
	// begun is true when the copying method has been chosen and stored in the field way. The field
	// began is the time of this choice. began is zero if the time of the operation is not measured.
	// attended is true if the owner took part in the operation.
	begun    bool
	way      way
	began    time.Time
	attended bool
	// shared is the state of a Get that the owner of the memory may help to copy (assist.go).
	shared shared
}

// bulk holds a rank's own operations and the copies that it has to make for peers.
type bulk struct {
	ops  []*bulkOp
	free []*bulkOp
	// tickets holds the tickets of this rank's staging buffers. serves holds the requests of peers.
	tickets [stagingSlots]ticket
	serves  []serveJob
	// descriptors marks the descriptors in use. sequence is the number of the last Get that used a
	// descriptor. helps holds the Gets of peers that this rank helps to copy (assist.go).
	descriptors [bulkDescriptors]bool
	sequence    uint64
	helps       []helpJob
}

// Get implements transport.Endpoint.
func (e *endpoint) Get(dst []byte, src transport.Key, token uint64) error {
	return e.start(verbGet, dst, src, 0, token)
}

// Put implements transport.Endpoint.
func (e *endpoint) Put(src []byte, dst transport.Key, token uint64) error {
	return e.start(verbPut, src, dst, 0, token)
}

// FetchAdd implements transport.Endpoint.
func (e *endpoint) FetchAdd(dst transport.Key, delta, token uint64) error {
	if dst.Addr%8 != 0 {
		return e.t.failure("fetch-add", e.peer, fmt.Errorf("%w: the word at %#x is not aligned to 8 bytes", transport.ErrBadKey, dst.Addr))
	}
	return e.start(verbAdd, nil, dst, delta, token)
}

// Map implements transport.Endpoint.
func (e *endpoint) Map(k transport.Key, n int) ([]byte, error) {
	if e.down != nil {
		return nil, e.t.failure("map", e.peer, e.down)
	}
	if k.Token != tokenArena {
		return nil, e.t.failure("map", e.peer, transport.ErrNotSupported)
	}
	b, err := e.t.node.arenaBytes(e.slot, k.Addr, n, createMissing)
	if err != nil {
		return nil, e.t.failure("map", e.peer, fmt.Errorf("%w: %d bytes at %d", transport.ErrBadKey, n, k.Addr))
	}
	return b, nil
}

// start queues an operation.
func (e *endpoint) start(v verb, buf []byte, key transport.Key, delta, token uint64) error {
	t := e.t
	switch {
	case t.closed:
		return t.failure(v.String(), e.peer, transport.ErrClosed)
	case e.down != nil:
		return t.failure(v.String(), e.peer, e.down)
	case e.reach.ops >= maxReads:
		return transport.ErrAgain
	case key.Token != tokenArena && key.Token&tokenPrivate == 0:
		return t.failure(v.String(), e.peer, transport.ErrBadKey)
	}
	if key.Token == tokenArena {
		n := len(buf)
		if v == verbAdd {
			n = 8
		}
		if _, err := t.node.arenaBytes(e.slot, key.Addr, n, createMissing); err != nil {
			return t.failure(v.String(), e.peer, transport.ErrBadKey)
		}
	}
	e.reach.ops++
	op := t.bulk.take()
	*op = bulkOp{e: e, verb: v, buf: buf, key: key, value: delta, token: token}
	t.bulk.ops = append(t.bulk.ops, op)
	return nil
}

func (b *bulk) take() *bulkOp {
	if n := len(b.free); n > 0 {
		op := b.free[n-1]
		b.free = b.free[:n-1]
		return op
	}
	return &bulkOp{}
}

// moveBulk makes copies for peers, then advances this rank's own operations, oldest first, and
// completes the finished ones. It returns the number of copies for peers plus the number of this
// rank's operations that advanced or ended.
func (t *Transport) moveBulk(h transport.Handler) int {
	left := pollBytes
	events := t.moveServes(&left)
	events += t.moveHelps(&left)
	for i := 0; i < len(t.bulk.ops) && left > 0; {
		op := t.bulk.ops[i]
		before := left
		if !op.finished {
			t.step(op, &left)
		}
		if left < before || op.finished {
			events++
		}
		if op.contends() {
			break
		}
		if !op.finished {
			i++
			continue
		}
		t.judge(op)
		t.bulk.complete(h, i)
	}
	return events
}

// complete removes operation i from the queue and reports its outcome to h.
func (b *bulk) complete(h transport.Handler, i int) {
	op := b.ops[i]
	b.ops = slices.Delete(b.ops, i, i+1)
	e, token, value, err := op.e, op.token, op.value, op.err
	if op.verb != verbAdd || err != nil {
		value = 0
	}
	*op = bulkOp{}
	b.free = append(b.free, op)
	e.reach.ops--
	h.Completed(e.peer, token, value, err)
}

// failBulk completes every operation on a lost peer. An operation that has already succeeded completes
// without an error; any other operation completes with the loss of the peer as its error. failBulk also
// discards the copies that this rank has to make for this peer.
func (t *Transport) failBulk(h transport.Handler, e *endpoint) {
	b := &t.bulk
	for i := 0; i < len(b.ops); {
		op := b.ops[i]
		if op.e != e {
			i++
			continue
		}
		b.unshare(op)
		t.dropTickets(op)
		if !op.finished || op.err != nil {
			op.fail(e.down)
		}
		b.complete(h, i)
	}
	b.helps = slices.DeleteFunc(b.helps, func(j helpJob) bool { return j.e == e })
	b.serves = slices.DeleteFunc(b.serves, func(j serveJob) bool { return j.slot == e.slot })
}

// quiet gives up the shared Gets that a peer helps to copy. The peer may still live. quiet reports
// whether the peer has finished its copies into the buffers of these Gets.
func (b *bulk) quiet(e *endpoint) bool {
	quiet := true
	for _, op := range b.ops {
		if op.e == e {
			op.shared.giveUp()
			quiet = quiet && op.shared.quiet()
		}
	}
	return quiet
}

func (op *bulkOp) fail(err error) {
	op.finished = true
	op.err = op.e.t.failure(op.verb.String(), op.e.peer, err)
}

// step advances one operation. It copies at most about *left bytes, and subtracts their number from *left.
func (t *Transport) step(op *bulkOp, left *int) {
	switch {
	case op.key.Token == tokenArena:
		t.stepArena(op, left)
	case t.lost(op.e.slot) && op.e.reach.direct:
		op.waiting = true // until the loss is reported, because the process ID may name another process
	case op.shared.desc.words != nil:
		t.stepShared(op, left)
	case op.staged:
		t.stepStaged(op, left)
	case t.node.locals != nil && !t.cfg.DisableCMA:
		t.stepLocal(op, left)
	case op.verb != verbAdd && inListing(op.key.Token) && op.e.direct():
		if !op.begun {
			t.begin(op)
		}
		switch {
		case op.shared.desc.words != nil:
			t.stepShared(op, left)
		case op.staged:
			t.stepStaged(op, left)
		default:
			t.stepDirect(op, left)
		}
	default:
		op.staged = true
		t.stepStaged(op, left)
	}
}

// advance counts n bytes as copied.
func (op *bulkOp) advance(n int, left *int) {
	op.done += n
	*left -= n
	op.finished = op.done >= len(op.buf)
}

// cachedMax is the largest length in bytes at which the two buffers of an operation usually fit into the caches
// (docs/adr/0067).
const cachedMax = 4 << 20

// move copies between the local memory and remote, which is memory of the peer.
func (op *bulkOp) move(remote []byte) {
	dst, src := op.buf[op.done:], remote
	if op.verb != verbGet {
		dst, src = src, dst
	}
	if len(op.buf) <= cachedMax {
		processor.CopyCached(dst, src)
	} else {
		copy(dst, src)
	}
}

// stepArena advances an operation on the peer's arena, which this process has mapped.
func (t *Transport) stepArena(op *bulkOp, left *int) {
	n := min(len(op.buf)-op.done, *left)
	if op.verb == verbAdd {
		n = 8
	}
	remote, err := t.node.arenaBytes(op.e.slot, op.key.Addr+uint64(op.done), n, createMissing)
	if err != nil {
		op.fail(transport.ErrBadKey)
		return
	}
	if op.verb == verbAdd {
		op.add(remote)
		*left -= n
		return
	}
	op.move(remote)
	op.advance(n, left)
}

// stepLocal advances an operation on private memory of a rank of the same process.
func (t *Transport) stepLocal(op *bulkOp, left *int) {
	n := min(len(op.buf)-op.done, *left)
	if op.verb == verbAdd {
		n = 8
	}
	ok := t.node.locals[op.e.slot].exposed.use(op.key.At(op.done), n, op.verb.access(), func(remote []byte) {
		if op.verb == verbAdd {
			op.add(remote)
		} else {
			op.move(remote)
		}
	})
	switch {
	case !ok:
		op.fail(transport.ErrBadKey)
	case op.verb != verbAdd:
		op.advance(n, left)
	}
}

// add executes a FetchAdd on a word in the address space of this process.
func (op *bulkOp) add(remote []byte) {
	if wordOf(remote) == nil {
		op.fail(transport.ErrBadKey)
		return
	}
	op.value = addTo(remote, op.value)
	op.finished = true
}
