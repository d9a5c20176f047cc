package uverbs

import (
	"encoding/binary"
	"sync/atomic"
)

// The layout of siw's queues (rdma/siw-abi.h). While the valid bit in the flags of an entry is set,
// the entry is valid and belongs to the reader of the queue. The reader clears the flags. Therefore
// the queues need no indices in shared memory. The flags, the number of segments and the opcode of
// a request are in one word, the control word, so that one store publishes all of them.
const (
	siwABI         = 1 // SIW_ABI_VERSION
	siwMaxSegments = 6 // SIW_MAX_SGE
	siwMaxInline   = 80

	siwValid     = 1 << 0 // SIW_WQE_VALID ...
	siwInline    = 1 << 1
	siwSignalled = 1 << 2
	siwSolicited = 1 << 3
	siwFence     = 1 << 4

	siwFlags        = 0xffff // mask of the flags in the control word of a request
	siwSegments     = 16     // shift of this field in the same control word
	siwOpcode       = 24     // shift of this field in the same control word
	siwResultFlags  = 0xff   // mask of the flags in the control word of a completion
	siwResultOpcode = 8      // shift of this field in the same control word
	siwResultStatus = 16     // shift of this field in the same control word

	siwNotifySolicited = 1 // SIW_NOTIFY_SOLICITED
	siwNotifyNext      = 2 // SIW_NOTIFY_NEXT_COMPLETION

	siwOpWrite          = 0 // SIW_OP_WRITE ...
	siwOpRead           = 1
	siwOpSend           = 3
	siwOpSendInvalidate = 5
	siwOpReceive        = 8
)

// siwSegment is struct siw_sge.
type siwSegment struct {
	address uint64
	length  uint32
	lkey    uint32
}

// siwSend is struct siw_sqe.
type siwSend struct {
	id       uint64
	control  uint32
	rkey     uint32
	remote   uint64
	segments [siwMaxSegments]siwSegment
}

// siwReceive is struct siw_rqe.
type siwReceive struct {
	id       uint64
	control  uint32
	_        uint32
	segments [siwMaxSegments]siwSegment
}

// siwCompletion is struct siw_cqe.
type siwCompletion struct {
	id      uint64
	control uint32
	bytes   uint32
	unused  uint64
	pair    uint64
}

// siwNotify is struct siw_cq_ctrl, which follows the entries of a completion queue.
type siwNotify struct{ flags, _ uint32 }

// siw is the driver of software iWARP.
type siw struct{}

func (siw) abi() int { return siwABI }

func (siw) rooms() rooms { return rooms{context: 8, region: 8, completions: 16, pair: 32, shared: 16} }

// region returns a struct siw_ureq_reg_mr. It contains the low byte of the key, which the user
// chooses. This byte differs from the byte of the previous registration, so that a stale key is not
// valid by chance.
func (siw) region(n uint8) []byte { return []byte{n, 0, 0, 0, 0, 0, 0, 0} }

// siwSize checks the number of entries of a queue in an answer.
func siwSize(what string, n uint32) error {
	if !isPowerOfTwo(n) || n > maxEntries {
		return nonsense("a %s of %d entries", what, n)
	}
	return nil
}

func (siw) completions(m *mapping, _ *CompletionQueue, part []byte) (completions, error) {
	n := binary.NativeEndian.Uint32(part[4:])
	if err := siwSize("completion queue", n); err != nil {
		return nil, err
	}
	entries := int(n) * sizeOf[siwCompletion]()
	b, err := m.add(binary.NativeEndian.Uint64(part[8:]), entries+sizeOf[siwNotify]())
	if err != nil {
		return nil, err
	}
	return &siwCompletions{entries: arrayOf[siwCompletion](b, int(n)), notify: at[siwNotify](b, entries), mask: n - 1}, nil
}

func (siw) pair(m *mapping, q *QueuePair, part []byte) (sends, receives, error) {
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(part[4*i:]) }
	n := word(1)
	if err := siwSize("send queue", n); err != nil {
		return nil, nil, err
	}
	b, err := m.add(binary.NativeEndian.Uint64(part[16:]), int(n)*sizeOf[siwSend]())
	if err != nil {
		return nil, nil, err
	}
	sq := &siwSends{entries: arrayOf[siwSend](b, int(n)), mask: n - 1, segments: min(q.Granted.SendSegments, siwMaxSegments)}
	if n = word(2); q.shared != nil || n == 0 {
		return sq, nil, nil
	}
	rq, err := siwReceiveQueue(m, n, binary.NativeEndian.Uint64(part[24:]), q.Granted.ReceiveSegments)
	return sq, rq, err
}

func (siw) shared(m *mapping, s *SharedReceiveQueue, part []byte) (receives, error) {
	return siwReceiveQueue(m, binary.NativeEndian.Uint32(part), binary.NativeEndian.Uint64(part[8:]), s.segments)
}

func siwReceiveQueue(m *mapping, n uint32, key uint64, segments int) (receives, error) {
	if err := siwSize("receive queue", n); err != nil {
		return nil, err
	}
	b, err := m.add(key, int(n)*sizeOf[siwReceive]())
	if err != nil {
		return nil, err
	}
	return &siwReceives{entries: arrayOf[siwReceive](b, int(n)), mask: n - 1, segments: min(segments, siwMaxSegments)}, nil
}

// siwSends is the send queue.
type siwSends struct {
	entries   []siwSend
	put, mask uint32
	segments  int
}

func (q *siwSends) capacity() int { return len(q.entries) }

func (q *siwSends) post(list []SendRequest) (int, error) {
	for i := range list {
		e := &q.entries[q.put&q.mask]
		if atomic.LoadUint32(&e.control)&siwFlags != 0 {
			return i, ErrFull
		}
		control, err := q.fill(e, &list[i])
		if err != nil {
			return i, err
		}
		atomic.StoreUint32(&e.control, control)
		q.put++
	}
	return len(list), nil
}

// fill writes all of an entry except the control word, and returns the control word.
func (q *siwSends) fill(e *siwSend, r *SendRequest) (uint32, error) {
	e.id = r.ID
	control := uint32(siwValid)
	switch r.Op {
	case OpSend:
		control |= siwOpSend << siwOpcode
	case OpSendInvalidate:
		control |= siwOpSendInvalidate << siwOpcode
		e.rkey = r.Invalidate
	case OpWrite:
		control |= siwOpWrite << siwOpcode
		e.remote, e.rkey = r.RemoteAddress, r.RKey
	case OpRead:
		// The target of a Read is at most one segment, and siw does not let a Read wait for earlier
		// Reads (siw_activate_tx_from_sq).
		if len(r.Segments) > 1 || r.Flags&(FlagFence|FlagInline) != 0 {
			return 0, ErrRequest
		}
		control |= siwOpRead << siwOpcode
		e.remote, e.rkey = r.RemoteAddress, r.RKey
		e.segments[0] = siwSegment{}
	default:
		return 0, ErrRequest
	}
	if r.Flags&FlagSignalled != 0 {
		control |= siwSignalled
	}
	if r.Flags&FlagSolicited != 0 {
		control |= siwSolicited
	}
	if r.Flags&FlagFence != 0 {
		control |= siwFence
	}
	if r.Flags&FlagInline != 0 {
		if total(r.Segments) > siwMaxInline || r.Op == OpSendInvalidate {
			return 0, ErrRequest
		}
		copyInline(siwInlineRoom(e), r.Segments)
		e.segments[0] = siwSegment{length: uint32(total(r.Segments))}
		return control | siwInline | 1<<siwSegments, nil
	}
	n := siwStore(&e.segments, r.Segments, q.segments)
	if n < 0 {
		return 0, ErrRequest
	}
	if r.Op == OpRead {
		n = 1
	}
	return control | uint32(n)<<siwSegments, nil
}

// siwStore writes the non-empty segments to an entry and returns their number. It returns -1 if
// there are more than limit non-empty segments, or if the segments are too long.
func siwStore(to *[siwMaxSegments]siwSegment, from []Segment, limit int) int {
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
		to[n] = siwSegment{address: addressOf(from[i].Data), length: uint32(len(from[i].Data)), lkey: from[i].LKey}
		n++
	}
	return n
}

// copyInline copies the bytes of the segments to an entry.
func copyInline(to []byte, from []Segment) {
	for i := range from {
		to = to[copy(to, from[i].Data):]
	}
}

// siwReceives is a receive queue.
type siwReceives struct {
	entries   []siwReceive
	put, mask uint32
	segments  int
}

func (q *siwReceives) capacity() int { return len(q.entries) }

func (q *siwReceives) post(list []ReceiveRequest) (int, error) {
	for i := range list {
		e := &q.entries[q.put&q.mask]
		if atomic.LoadUint32(&e.control)&siwFlags != 0 {
			return i, ErrFull
		}
		n := siwStore(&e.segments, list[i].Segments, q.segments)
		if n < 0 {
			return i, ErrRequest
		}
		e.id = list[i].ID
		atomic.StoreUint32(&e.control, siwValid|uint32(n)<<siwSegments)
		q.put++
	}
	return len(list), nil
}

// siwCompletions is a completion queue.
type siwCompletions struct {
	entries   []siwCompletion
	notify    *siwNotify
	get, mask uint32
}

func (q *siwCompletions) capacity() int { return len(q.entries) }

func (q *siwCompletions) poll(out []Completion) int {
	for i := range out {
		e := &q.entries[q.get&q.mask]
		control := atomic.LoadUint32(&e.control)
		if control&siwResultFlags == 0 {
			return i
		}
		out[i] = Completion{
			ID: e.id, Length: e.bytes, QueuePair: uint32(e.pair),
			Status: siwStatus(control >> siwResultStatus), Op: siwCompleted(uint8(control >> siwResultOpcode)),
		}
		atomic.StoreUint32(&e.control, 0)
		q.get++
	}
	return len(out)
}

// arm requests the event by a store to shared memory. The processor executes this store before the
// loads of the polls that follow.
func (q *siwCompletions) arm() bool {
	atomic.StoreUint32(&q.notify.flags, siwNotifySolicited|siwNotifyNext)
	return true
}

// siwStatuses contains the Status for each value of enum siw_wc_status.
var siwStatuses = [...]Status{
	StatusSuccess, StatusLocalLength, StatusLocalProtection, StatusLocalOperation, StatusFlushed,
	StatusBadResponse, StatusLocalAccess, StatusRemoteAccess, StatusRemoteInvalid, StatusGeneral,
}

func siwStatus(s uint32) Status {
	if s < uint32(len(siwStatuses)) {
		return siwStatuses[s]
	}
	return StatusGeneral
}

func siwCompleted(op uint8) Completed {
	switch op {
	case siwOpWrite:
		return CompletedWrite
	case siwOpRead:
		return CompletedRead
	case siwOpReceive:
		return CompletedReceive
	default:
		return CompletedSend
	}
}
