package shm

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// pollBytes is what one Poll copies of bulk, about.
const pollBytes = 1 << 20

// verb is what a bulk operation does.
type verb uint8

const (
	verbGet verb = iota
	verbPut
	verbAdd
)

// String returns the name the operation has in errors.
func (v verb) String() string { return [...]string{"get", "put", "fetch-add"}[v] }

// access returns the right the operation needs.
func (v verb) access() transport.Access {
	return [...]transport.Access{transport.AccessRead, transport.AccessWrite, transport.AccessAtomic}[v]
}

// bulkOp is a Get, Put or FetchAdd under way.
type bulkOp struct {
	e    *endpoint
	verb verb
	// buf is the local memory, key the peer's.
	buf   []byte
	key   transport.Key
	token uint64
	// done counts the bytes that were copied.
	done int
	// value is the delta of a FetchAdd, then the old word.
	value uint64
	// finished says that the operation is to be completed, with err.
	finished bool
	err      error
	// staged says that the operation goes through staging buffers: asked bytes were
	// requested, pieces requests are under way, waiting says that nothing else can
	// be done.
	staged        bool
	asked, pieces int
	waiting       bool
	// restart says that direct copies were refused in the middle; idle counts steps
	// without an answer.
	restart bool
	idle    int
	// begun says that way was chosen, at began; attended that the owner took part.
	begun    bool
	way      way
	began    time.Time
	attended bool
	// shared is the help of the owner.
	shared shared
}

// bulk is the queue of a rank's own operations and of the copies it makes for
// peers.
type bulk struct {
	ops  []*bulkOp
	free []*bulkOp
	// tickets are those of the own staging buffers, serves the requests of peers.
	tickets [stagingSlots]ticket
	serves  []serveJob
	// descriptors in use, sequence of the last one, and Gets of peers to help with.
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
		return e.t.failure("fetch-add", e.peer, transport.ErrBadKey)
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
	b, err := e.t.node.arenaBytes(e.slot, k.Addr, n, true)
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
		if _, err := t.node.arenaBytes(e.slot, key.Addr, n, true); err != nil {
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

// moveBulk advances operations, oldest first, and completes those that are done.
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

// complete takes an operation out of the queue and reports it.
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

// fail completes every operation on a peer that is gone.
func (b *bulk) fail(h transport.Handler, e *endpoint, reaped bool) {
	for i := 0; i < len(b.ops); {
		op := b.ops[i]
		if op.e != e {
			i++
			continue
		}
		b.unshare(op)
		b.dropTickets(op, reaped)
		if !op.finished || op.err != nil {
			op.fail(e.down)
		}
		b.complete(h, i)
	}
	b.helps = slices.DeleteFunc(b.helps, func(j helpJob) bool { return j.e == e })
	b.serves = slices.DeleteFunc(b.serves, func(j serveJob) bool { return j.slot == e.slot })
}

// quiet says that a peer which may live writes into no buffer of ours any more.
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

// step advances one operation by at most left bytes.
func (t *Transport) step(op *bulkOp, left *int) {
	switch {
	case op.key.Token == tokenArena:
		t.stepArena(op, left)
	case t.dead[op.e.slot] && op.e.reach.direct:
		op.waiting = true // for the report of the loss: its process id may be another's
	case op.shared.desc.words != nil:
		t.stepShared(op, left)
	case op.staged:
		t.stepStaged(op, left)
	case t.node.locals != nil && !t.cfg.DisableCMA:
		t.stepLocal(op, left)
	case op.verb != verbAdd && op.e.direct():
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

// move copies between the local and the peer's memory.
func (op *bulkOp) move(remote []byte) {
	local := op.buf[op.done:]
	if op.verb == verbGet {
		copy(local, remote)
	} else {
		copy(remote, local)
	}
}

// stepArena works on the peer's arena, which is mapped here.
func (t *Transport) stepArena(op *bulkOp, left *int) {
	n := min(len(op.buf)-op.done, *left)
	if op.verb == verbAdd {
		n = 8
	}
	remote, err := t.node.arenaBytes(op.e.slot, op.key.Addr+uint64(op.done), n, true)
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

// stepLocal works on private memory of a rank of the same process.
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

// add does a FetchAdd on a word that is mapped here.
func (op *bulkOp) add(remote []byte) {
	if wordOf(remote) == nil {
		op.fail(transport.ErrBadKey)
		return
	}
	op.value = addTo(remote, op.value)
	op.finished = true
}
