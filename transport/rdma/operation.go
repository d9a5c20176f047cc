package rdma

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// readChunk and writeChunk are the maximum lengths of a single Read and Write in bytes. They bound the time
	// for which small messages on the same connection wait.
	readChunk  = 1 << 20
	writeChunk = 256 << 10
	// writesMax is the maximum number of Writes posted to an endpoint.
	writesMax = 4
	// operationsMax is the maximum number of operations in progress with a peer.
	operationsMax = 64
	// readTries is the number of losses of its connection that a Get survives.
	readTries = 3
)

// errInterrupted is the error of a Put whose connection was lost, and of a Get that has lost more than
// readTries connections.
var errInterrupted = errors.New("the connection was lost during the operation")

// errRefused is the error of an operation whose memory the owner cannot register. The engine then transfers the
// bytes as messages.
var errRefused = errors.New("the owner of the memory cannot register it on the adapter of the connection (its log says why)")

// operationKind is the kind of operation that the engine has requested.
type operationKind uint8

const (
	operationGet operationKind = iota
	operationPut
	operationFetchAdd
)

var operationNames = [...]string{operationGet: "get", operationPut: "put", operationFetchAdd: "fetch-add"}

// operation is one Get, Put or FetchAdd in progress.
type operation struct {
	kind  operationKind
	id    uint32
	token uint64
	key   transport.Key
	delta uint64
	// data are the bytes of the operation. If copied is false, memory is their registration on rail, until the
	// end of the operation. If copied is true, data is copied through the bounces of rail, and flights are the
	// Reads and Writes in flight, in the order of posting. address and rkey name the peer's memory on the
	// connection.
	data    []byte
	memory  registration
	copied  bool
	flights []flight
	rail    *rail
	address uint64
	rkey    uint32
	// transfer is the state of the transfer of the bytes.
	transfer stripe.Transfer
	tries    int
	striped  striped
	// interrupted reports whether the connection was lost during the operation. uncertain reports whether this
	// rank has to send the owner of the memory a recordCheck, which asks for a valid key. The recordCheck is
	// necessary after a loss, because an invalid key may be the reason of the loss. It is also necessary if
	// key is not for the peer's rail of the connection in use.
	interrupted, uncertain bool
	// asked reports whether the record of the operation was sent: a recordMarker, recordCheck or recordFetch.
	asked bool
	// referred reports whether a recordKey was sent, which asks for the key on the side connection.
	referred bool
}

// answer is a record that this rank owes to the peer.
type answer struct {
	kind   recordKind
	header transport.Header
}

// bulk is the state of the operations on a peer.
type bulk struct {
	all map[uint32]*operation
	// moving are the operations with bytes for which Reads or Writes have to be posted. asking are the
	// operations with a record to send. Both are queues.
	moving, asking   []*operation
	reading, writing int
	// marking are the Puts with a mark (see type side) to send on the side connection.
	marking []*operation
	// keys is the number of recordKeys without an answer, including recordKeys of operations that have
	// ended.
	keys int
	// answers are the records that this rank has to send to the peer, at most answersMax. Among them are
	// records of this side that belong to no operation, such as recordClose.
	answers []answer
}

func newBulk() bulk { return bulk{all: map[uint32]*operation{}} }

func (b *bulk) any() bool { return len(b.all) > 0 }

// waits reports whether a Read, a Write, a record or a mark is left to be posted.
func (b *bulk) waits() bool { return len(b.moving)+len(b.asking)+len(b.answers)+len(b.marking) > 0 }

// supersede drops the records of a kind that wait to be sent to the peer, because the peer needs
// only the latest record of this kind.
func (b *bulk) supersede(kind recordKind) {
	b.answers = slices.DeleteFunc(b.answers, func(a answer) bool { return a.kind == kind })
}

// begin makes an operation, or returns the reason for which it cannot make the operation.
func (p *endpoint) begin(kind operationKind, k transport.Key, data []byte, token uint64) (*operation, error) {
	name := operationNames[kind]
	switch {
	case p.t.closed || p.end != nil || p.link == nil || p.leaving != staying:
		return nil, p.refuse(name, 0)
	case kind == operationGet && p.depth == 0:
		return nil, p.failure(name, transport.ErrNotSupported)
	case len(p.bulk.all) >= operationsMax:
		return nil, transport.ErrAgain
	}
	p.wear()
	p.t.operations++
	o := p.t.spareOperations.take()
	*o = operation{kind: kind, id: p.t.operations, token: token, key: k, data: data, flights: o.flights, transfer: o.transfer}
	o.transfer.Begin(len(data), kind == operationPut)
	o.striped.long = p.t.stripes && len(data) >= p.t.stripe.above
	if err := o.register(p.link.rail); err != nil {
		return nil, p.failure(name, err)
	}
	p.bulk.all[o.id] = o
	p.list()
	return o, nil
}

// Get implements transport.Endpoint, by Reads.
func (p *endpoint) Get(dst []byte, src transport.Key, token uint64) error {
	return p.move(operationGet, dst, src, token)
}

// Put implements transport.Endpoint, by Writes, followed by a marker. The acknowledgement of the marker
// confirms that the bytes are in place.
func (p *endpoint) Put(src []byte, dst transport.Key, token uint64) error {
	return p.move(operationPut, src, dst, token)
}

func (p *endpoint) move(kind operationKind, data []byte, k transport.Key, token uint64) error {
	o, err := p.begin(kind, k, data, token)
	switch {
	case err != nil:
		return err
	case len(data) == 0:
		p.finish(o, 0, nil)
	case uint8(k.Token>>railShift) != p.link.peerRail:
		o.uncertain = true // until the owner has sent the key on this rail
		p.bulk.asking = append(p.bulk.asking, o)
		p.bulk.drive(p)
	default:
		o.address, o.rkey = k.Addr, uint32(k.Token)
		p.bulk.moving = append(p.bulk.moving, o)
		p.bulk.drive(p)
	}
	return nil
}

// again enqueues an operation for posting if bytes are left to post.
func (b *bulk) again(o *operation) {
	if o.transfer.Left() > 0 && !o.uncertain && !slices.Contains(b.moving, o) {
		b.moving = append(b.moving, o)
	}
}

// register makes the bytes of an operation accessible on a rail.
func (o *operation) register(r *rail) error {
	if len(o.data) == 0 || o.rail == r {
		return nil
	}
	rights := verbs.Access(0)
	if o.kind == operationGet {
		rights = verbs.AccessLocalWrite
	}
	memory, copied, err := r.furnish(o.data, rights)
	if err != nil {
		return err
	}
	_ = o.deregister() // an error is ignored, because it concerns the previous rail, which o does not use any more
	o.memory, o.copied, o.rail = memory, copied, r
	return nil
}

// deregister ends the registration of the operation's memory, if there is one.
func (o *operation) deregister() error {
	if o.memory.region == nil {
		return nil
	}
	err := o.rail.registered.give(o.memory)
	o.memory = registration{}
	if o.rail.removed {
		return nil // the registration has ended with the adapter
	}
	return err
}

// FetchAdd implements transport.Endpoint, by a message to the owner of the word. The message is delivered
// exactly once, even if connections are lost.
func (p *endpoint) FetchAdd(dst transport.Key, delta, token uint64) error {
	o, err := p.begin(operationFetchAdd, dst, nil, token)
	if err != nil {
		return err
	}
	o.delta = delta
	p.bulk.asking = append(p.bulk.asking, o)
	p.bulk.drive(p)
	return nil
}

// finish ends an operation. Poll reports the end to the handler.
func (p *endpoint) finish(o *operation, value uint64, err error) {
	delete(p.bulk.all, o.id)
	err = errors.Join(err, o.deregister(), o.striped.deregister())
	if err != nil {
		err = p.failure(operationNames[o.kind], err)
	}
	o.data = nil
	p.t.finished = append(p.t.finished, finished{p.peer, o.token, value, err})
}

// drive posts the Reads, Writes and records that can be posted now.
func (b *bulk) drive(p *endpoint) {
	for len(b.answers) > 0 && p.sendRecord(b.answers[0].kind, b.answers[0].header, nil, nil) {
		b.answers = slices.Delete(b.answers, 0, 1)
	}
	b.askAll(p)
	for stuck := 0; stuck < len(b.moving) && p.link != nil && !p.link.broken; {
		o := b.moving[0]
		b.moving = slices.Delete(b.moving, 0, 1)
		moved := o.step(p)
		if p.t.stripes && o.stepAside(p) {
			moved = true
		}
		if !moved {
			stuck++
		}
		if o.transfer.Left() > 0 {
			b.moving = append(b.moving, o)
		} else {
			b.mark(o)
		}
	}
	b.askAll(p)
	if p.t.stripes {
		p.side.drive(p)
	}
}

// askAll sends the records of operations as far as there is room.
func (b *bulk) askAll(p *endpoint) {
	for len(b.asking) > 0 && b.asking[0].ask(p) {
		b.asking = slices.Delete(b.asking, 0, 1)
	}
}

// mark enqueues a Put for the marker on the main connection and for the mark on the side connection, if they are due.
func (b *bulk) mark(o *operation) {
	if o.transfer.MarkDue(stripe.Main) && !slices.Contains(b.asking, o) {
		b.asking = append(b.asking, o)
	}
	if o.transfer.MarkDue(stripe.Side) && !slices.Contains(b.marking, o) {
		b.marking = append(b.marking, o)
	}
}

// step posts the next Read or Write of an operation. It returns false if no Read or Write can be posted now,
// for instance because the maximum number is in flight.
func (o *operation) step(p *endpoint) bool {
	b, l := &p.bulk, p.link
	most, under := l.rail.attributes.MaxRDMA, p.depth
	w := verbs.WorkRequest{RKey: o.rkey, Op: verbs.OpRead, ID: idOf(idRead, o.id)}
	count := &b.reading
	most = min(most, readChunk)
	if o.kind == operationPut {
		w.Op, w.ID, most, under, count = verbs.OpWrite, idOf(idWrite, o.id), min(most, writeChunk), writesMax, &b.writing
	}
	shares := p.t.stripes && o.shares(p)
	if shares {
		most, under = min(most, p.t.stripe.chunk), min(under, sideMost)
	}
	part := o.transfer.Next(most)
	if *count >= under || part.Len == 0 || o.striped.key == stripe.KeyKnown && shares && !p.side.judge.Takes(stripe.Main, part.Len, b.left()+o.transfer.Left()) {
		return false
	}
	if !o.copied {
		p.t.segments[0] = o.memory.region.Segment(o.memory.off+part.Off, part.Len)
	} else if part.Len = o.copyPart(p.t, part); part.Len == 0 {
		return false
	}
	*count++
	w.RemoteAddress, w.Flags = o.address+uint64(part.Off), l.rail.flags()
	w.Segments = p.t.segments[:]
	if l.endpoint.Post(&w) != nil {
		l.broken = true // an event for the end of the connection follows
		return false
	}
	o.transfer.Post(stripe.Main, part.Len)
	if o.striped.long {
		p.side.judge.Posted(stripe.Main, part.Len, p.t.now())
	}
	p.activity++
	return true
}

// moved handles the completion of a Read or Write on the link in use.
func (b *bulk) moved(p *endpoint, kind idKind, id uint32, status verbs.Status) {
	if status != verbs.StatusSuccess {
		return // the connection ends, and its end interrupts the operation
	}
	o := b.all[id]
	if kind == idRead {
		b.reading--
	} else {
		b.writing--
	}
	p.list()
	if o == nil {
		return
	}
	part := o.transfer.Oldest(stripe.Main)
	o.transfer.Completed(stripe.Main)
	if o.copied {
		o.landed()
	}
	if o.striped.long {
		p.side.judge.Completed(stripe.Main, part.Len, p.t.now())
	}
	o.check(p)
}

// check ends an operation if all its bytes are transferred and, for a Put, confirmed to be in place.
func (o *operation) check(p *endpoint) {
	if !o.transfer.Done() {
		return
	}
	p.finish(o, 0, nil)
	if o.kind == operationGet && !o.asked && !o.referred {
		p.t.spareOperations.give(o) // nothing else refers to o
	}
}

// marked handles the acknowledgement of the marker of a Put. The acknowledgement may arrive before the
// completions of the Put's Writes, because on InfiniBand a message of the peer can overtake the adapter's
// acknowledgement of a Write. Until these completions the adapter may have to retransmit the Writes.
func (o *operation) marked(p *endpoint) {
	if o.uncertain || p.bulk.all[o.id] != o {
		return
	}
	o.transfer.Confirmed(stripe.Main)
	p.bulk.mark(o) // Writes may have been posted after the marker
	p.list()
	o.check(p)
}

// ask sends the record of an operation. It returns false if there is no room.
func (o *operation) ask(p *endpoint) bool {
	var payload [questionBytes]byte
	h := transport.Header{A: o.key.Addr, B: o.key.Token}
	switch {
	case o.kind == operationFetchAdd:
		h.C = o.delta
		binary.LittleEndian.PutUint32(payload[:], o.id)
		o.asked = p.sendRecord(recordFetch, h, payload[:], nil)
	case !o.uncertain:
		if !o.transfer.MarkDue(stripe.Main) {
			return true // parts that were lost on the side connection have to be posted again first
		}
		if o.asked = p.sendRecord(recordMarker, transport.Header{}, nil, o); o.asked {
			o.transfer.Mark(stripe.Main)
		}
	default:
		h.C = uint64(len(o.data))
		binary.LittleEndian.PutUint32(payload[:], o.id)
		payload[4] = byte(transport.AccessRead)
		if o.kind == operationPut {
			payload[4] = byte(transport.AccessWrite)
		}
		o.asked = p.sendRecord(recordCheck, h, payload[:], nil)
	}
	return o.asked
}

// questionBytes is the length of the payload of recordFetch, recordCheck and recordKey: 4 bytes id of the
// operation, 1 byte access requested, 1 byte rail (recordKey), 2 bytes 0.
const questionBytes = 8
