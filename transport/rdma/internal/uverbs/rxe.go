package uverbs

import (
	"encoding/binary"
	"sync/atomic"
)

// The layout of rxe's queues (rdma/rdma_user_rxe.h). A queue begins with a header that contains two
// indices. Each index is written by only one side, the program or the driver, and is published by a
// release store. The elements follow the header. The size of an element in bytes is a power of two.
// At least one element is always free, so that the indices distinguish a full queue from an empty
// queue.
const (
	rxeABI          = 2   // RXE_UVERBS_ABI_VERSION
	rxeHeader       = 384 // sizeof(struct rxe_queue_buf)
	rxeHasImmediate = 2   // IB_WC_WITH_IMM
)

// rxeIndices is the header of a queue, struct rxe_queue_buf.
type rxeIndices struct {
	log2Size uint32
	mask     uint32
	_        [30]uint32
	producer uint32
	_        [31]uint32
	consumer uint32
	_        [31]uint32
}

// rxeSegment is struct rxe_sge.
type rxeSegment struct {
	address uint64
	length  uint32
	lkey    uint32
}

// rxeData is struct rxe_dma_info. The segments or the inline bytes follow it.
type rxeData struct {
	length   uint32
	resid    uint32
	current  uint32
	segments uint32
	offset   uint32
	_        uint32
}

// rxeSend is struct rxe_send_wqe. The fields from remote on are a union. An atomic uses remote,
// compare, swap and rkey. A Read or Write uses only remote and compare, and its key is in the field
// compare.
type rxeSend struct {
	id      uint64
	_       uint32
	opcode  uint32
	flags   uint32
	extra   uint32 // the immediate data (big-endian), or the key to invalidate
	remote  uint64
	compare uint64 // in a Read or Write, the key
	swap    uint64
	rkey    uint32
	_       uint32
	_       [88]byte // only for UD
	status  uint32
	state   uint32
	iova    uint64
	mask    uint32
	_       uint32 // firstPSN
	_       uint32 // lastPSN
	_       uint32 // ackLength
	ssn     uint32
	atomic  uint32
	data    rxeData
}

// rxeReceive is struct rxe_recv_wqe.
type rxeReceive struct {
	id   uint64
	_    uint32
	_    uint32
	data rxeData
}

// rxeCompletion is struct ib_uverbs_wc.
type rxeCompletion struct {
	id     uint64
	status uint32
	opcode uint32
	vendor uint32
	bytes  uint32
	extra  uint32
	pair   uint32
	source uint32
	flags  uint32
	_      uint16 // pkey
	_      uint16 // sourceLID
	_      uint8  // level
	_      uint8  // pathBits
	_      uint8  // port
	_      uint8
}

// rxe is the driver of software RoCE.
type rxe struct{}

func (rxe) abi() int { return rxeABI }

func (rxe) rooms() rooms { return rooms{completions: 16, pair: 32, shared: 24} }

func (rxe) region(uint8) []byte { return nil }

func (rxe) completions(m *mapping, _ *CompletionQueue, part []byte) (completions, error) {
	q, err := rxeMap(m, part, sizeOf[rxeCompletion]())
	if err != nil {
		return nil, err
	}
	return &rxeCompletions{rxeQueue: q, get: atomic.LoadUint32(&q.header.consumer)}, nil
}

func (rxe) pair(m *mapping, q *QueuePair, part []byte) (sends, receives, error) {
	g := &q.Granted
	sq, err := rxeMap(m, part[16:], sizeOf[rxeSend]()+max(g.SendSegments*sizeOf[rxeSegment](), g.Inline))
	if err != nil {
		return nil, nil, err
	}
	s := &rxeSends{rxeQueue: sq, segments: g.SendSegments, inline: g.Inline, put: atomic.LoadUint32(&sq.header.producer)}
	if q.shared != nil {
		return s, nil, nil
	}
	r, err := rxeReceiveQueue(m, part, g.ReceiveSegments)
	return s, r, err
}

func (rxe) shared(m *mapping, s *SharedReceiveQueue, part []byte) (receives, error) {
	return rxeReceiveQueue(m, part, s.segments)
}

func rxeReceiveQueue(m *mapping, part []byte, segments int) (receives, error) {
	q, err := rxeMap(m, part, sizeOf[rxeReceive]()+segments*sizeOf[rxeSegment]())
	if err != nil {
		return nil, err
	}
	return &rxeReceives{rxeQueue: q, segments: segments, put: atomic.LoadUint32(&q.header.producer)}, nil
}

// rxeQueue is a queue in mapped memory.
type rxeQueue struct {
	header *rxeIndices
	data   []byte
	shift  uint32
	mask   uint32
}

// rxeMap maps the queue that a struct mminfo describes, and checks that its elements have at least
// the given size and lie within the mapping.
func rxeMap(m *mapping, info []byte, element int) (rxeQueue, error) {
	offset, length := binary.NativeEndian.Uint64(info), binary.NativeEndian.Uint32(info[8:])
	if length < rxeHeader || length > 1<<30 {
		return rxeQueue{}, nonsense("a queue of %d bytes", length)
	}
	b, err := m.add(offset, int(length))
	if err != nil {
		return rxeQueue{}, err
	}
	q := rxeQueue{header: at[rxeIndices](b, 0), data: b[rxeHeader:]}
	q.shift, q.mask = q.header.log2Size, q.header.mask
	switch {
	case q.shift > 16 || 1<<q.shift < element:
		return q, nonsense("elements of %d bytes, smaller than %d", uint64(1)<<min(q.shift, 63), element)
	case !isPowerOfTwo(q.mask+1) || q.mask >= maxEntries || int(q.mask+1)<<q.shift > len(q.data):
		return q, nonsense("%d elements of %d bytes in %d bytes", uint64(q.mask)+1, 1<<q.shift, len(q.data))
	}
	return q, nil
}

// capacity returns the number of elements that can be in use at a time. It is one less than the
// number of elements.
func (q *rxeQueue) capacity() int { return int(q.mask) }

// element returns the memory of an element.
func (q *rxeQueue) element(index uint32) []byte {
	return q.data[(index&q.mask)<<q.shift:][:1<<q.shift]
}

// rxeSends is the send queue.
type rxeSends struct {
	rxeQueue
	put, ssn         uint32
	segments, inline int
}

func (q *rxeSends) post(list []SendRequest) (n int, err error) {
	get := atomic.LoadUint32(&q.header.consumer)
	for n = range list {
		if (q.put+1-get)&q.mask == 0 {
			err = ErrFull
			break
		}
		if !q.fill(q.element(q.put), &list[n]) {
			err = ErrRequest
			break
		}
		q.put = (q.put + 1) & q.mask
	}
	if err == nil {
		n = len(list)
	}
	atomic.StoreUint32(&q.header.producer, q.put)
	return n, err
}

// fill writes a request to an element. It returns false if the device cannot carry out a request of
// this form.
func (q *rxeSends) fill(b []byte, r *SendRequest) bool {
	e := at[rxeSend](b, 0)
	room := b[sizeOf[rxeSend]():]
	length := total(r.Segments)
	*e = rxeSend{id: r.ID, opcode: uint32(r.Op), flags: uint32(r.Flags), ssn: q.ssn}
	switch r.Op {
	case OpSend:
	case OpSendImmediate:
		e.extra = bigEndian(r.Immediate)
	case OpSendInvalidate:
		e.extra = r.Invalidate
	case OpWriteImmediate, OpWrite, OpRead:
		if r.Op == OpWriteImmediate {
			e.extra = bigEndian(r.Immediate)
		}
		e.remote, e.compare, e.iova = r.RemoteAddress, uint64(r.RKey), r.RemoteAddress
	case OpCompareSwap, OpFetchAdd:
		if length != 8 || r.RemoteAddress%8 != 0 || r.Flags&FlagInline != 0 {
			return false
		}
		e.remote, e.compare, e.swap, e.rkey, e.iova = r.RemoteAddress, r.Compare, r.Swap, r.RKey, r.RemoteAddress
	default:
		return false
	}
	e.data = rxeData{length: uint32(length), resid: uint32(length)}
	if r.Flags&FlagInline != 0 {
		if length > q.inline || r.Op == OpRead {
			return false
		}
		copyInline(room, r.Segments)
	} else {
		n := rxeStore(room, r.Segments, q.segments)
		if n < 0 {
			return false
		}
		e.data.segments = uint32(n)
	}
	q.ssn++
	return true
}

// bigEndian returns a number whose bytes in memory are the bytes of v in network byte order. The
// same function also does the opposite conversion.
func bigEndian(v uint32) uint32 {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], v)
	return binary.NativeEndian.Uint32(b[:])
}

// rxeStore writes the non-empty segments to an element and returns their number. It returns -1 if
// there are more than limit non-empty segments, or if the segments are too long.
func rxeStore(to []byte, from []Segment, limit int) int {
	if Long(from) {
		return -1
	}
	n := 0
	for i := range from {
		if len(from[i].Data) == 0 {
			continue
		}
		if n == limit {
			return -1
		}
		*at[rxeSegment](to, n*sizeOf[rxeSegment]()) = rxeSegment{address: addressOf(from[i].Data), length: uint32(len(from[i].Data)), lkey: from[i].LKey}
		n++
	}
	return n
}

// rxeReceives is a receive queue.
type rxeReceives struct {
	rxeQueue
	put      uint32
	segments int
}

func (q *rxeReceives) post(list []ReceiveRequest) (n int, err error) {
	get := atomic.LoadUint32(&q.header.consumer)
	for n = range list {
		if (q.put+1-get)&q.mask == 0 {
			err = ErrFull
			break
		}
		b := q.element(q.put)
		segments := rxeStore(b[sizeOf[rxeReceive]():], list[n].Segments, q.segments)
		if segments < 0 {
			err = ErrRequest
			break
		}
		length := uint32(total(list[n].Segments))
		*at[rxeReceive](b, 0) = rxeReceive{id: list[n].ID, data: rxeData{length: length, resid: length, segments: uint32(segments)}}
		q.put = (q.put + 1) & q.mask
	}
	if err == nil {
		n = len(list)
	}
	atomic.StoreUint32(&q.header.producer, q.put)
	return n, err
}

// rxeCompletions is a completion queue.
type rxeCompletions struct {
	rxeQueue
	get uint32
}

func (q *rxeCompletions) poll(out []Completion) int {
	put := atomic.LoadUint32(&q.header.producer) & q.mask
	n := 0
	for ; n < len(out) && q.get != put; n++ {
		e := at[rxeCompletion](q.element(q.get), 0)
		out[n] = Completion{ID: e.id, Length: e.bytes, QueuePair: e.pair, Status: rxeStatus(e.status), Op: Completed(e.opcode)}
		if e.flags&rxeHasImmediate != 0 {
			out[n].Immediate, out[n].HasImmediate = bigEndian(e.extra), true
		}
		q.get = (q.get + 1) & q.mask
	}
	if n > 0 {
		atomic.StoreUint32(&q.header.consumer, q.get)
	}
	return n
}

// arm returns false, because only a command to the kernel can arm the queue. The kernel does not
// keep this state in shared memory.
func (q *rxeCompletions) arm() bool { return false }

// rxeStatus converts the status of a completion (enum ib_wc_status).
func rxeStatus(s uint32) Status {
	if s > uint32(StatusGeneral) {
		return StatusGeneral
	}
	return Status(s)
}
