package ibverbs

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"syscall"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

const (
	// listMax is the maximum number of requests that one call of the library posts.
	listMax = 32
	// listSegments and listInline are the minimum numbers of segments and of inline bytes for which a
	// list has room. A list ends before the first request for which the list has too little room.
	listSegments = 64
	listInline   = 1024
)

// segments has the memory for the segments of all requests of a list. It is pinned.
type segments struct {
	array []segment
	used  int
	max   int // the maximum number of segments of one request
	pin   goruntime.Pinner
}

func (s *segments) init(limit int) {
	s.array, s.max = make([]segment, max(limit, listSegments)), limit
	s.pin.Pin(&s.array[0])
}

// add appends the segments of a request, and returns their address and number. full reports that
// the list has no room for the segments. In this case the caller has to put the request into the
// next list. add omits segments without bytes, because for some devices a length of 0 means 2 GiB.
// If all segments are empty and the argument one is true, add appends one empty segment.
func (s *segments) add(list []uverbs.Segment, one bool) (at uintptr, n int32, full bool, err error) {
	if len(list) > s.max || uverbs.Long(list) {
		return 0, 0, false, uverbs.ErrRequest
	}
	if s.used+max(len(list), 1) > len(s.array) {
		return 0, 0, true, nil
	}
	first := s.used
	for i := range list {
		if len(list[i].Data) > 0 {
			s.array[s.used] = segment{address: uint64(addressOfBytes(list[i].Data)), length: uint32(len(list[i].Data)), lkey: list[i].LKey}
			s.used++
		}
	}
	if s.used == first {
		if !one {
			return 0, 0, false, nil
		}
		s.array[s.used] = segment{}
		s.used++
	}
	return addressOf(&s.array[first]), int32(s.used - first), false, nil
}

// sendList is a list of send requests in the library's layout. It is pinned.
type sendList struct {
	works    [listMax]sendWork
	bad      uintptr
	segments segments
	// inline holds copies of the inline bytes. The copies are necessary because the inline bytes of
	// a request may lie on a goroutine's stack, and Go may move the stack.
	inline     []byte
	inlineUsed int
	inlineMax  int
	// siw is true for libsiw, which requires that a Read has a segment, even if the Read has no
	// bytes.
	siw bool
	pin goruntime.Pinner
}

func newSendList(maxSegments, maxInline int, siw bool) *sendList {
	l := &sendList{inline: make([]byte, max(maxInline, listInline)), inlineMax: maxInline, siw: siw}
	l.segments.init(maxSegments)
	l.pin.Pin(l)
	l.pin.Pin(&l.inline[0])
	return l
}

func (l *sendList) close() {
	l.pin.Unpin()
	l.segments.pin.Unpin()
}

// fill fills the list with the first requests and returns their number. The error is the error of
// the first request that is not in the list.
func (l *sendList) fill(list []uverbs.SendRequest) (int, error) {
	l.segments.used, l.inlineUsed = 0, 0
	n := 0
	for n < len(list) && n < listMax {
		r, w := &list[n], &l.works[n]
		at, count, full, err := l.place(r)
		if err != nil {
			return n, err
		}
		if full {
			break
		}
		*w = sendWork{id: r.ID, segments: at, count: count, op: uint32(r.Op), flags: uint32(r.Flags)}
		switch r.Op {
		case uverbs.OpSend:
		case uverbs.OpSendImmediate:
			w.extra = bigEndian(r.Immediate)
		case uverbs.OpSendInvalidate:
			w.extra = r.Invalidate
		case uverbs.OpWrite, uverbs.OpRead:
			w.remote = remoteMemory{address: r.RemoteAddress, operand: uint64(r.RKey)}
		case uverbs.OpWriteImmediate:
			w.remote, w.extra = remoteMemory{address: r.RemoteAddress, operand: uint64(r.RKey)}, bigEndian(r.Immediate)
		case uverbs.OpCompareSwap, uverbs.OpFetchAdd:
			w.remote = remoteMemory{address: r.RemoteAddress, operand: r.Compare, swap: r.Swap, atomicKey: r.RKey}
		default:
			return n, uverbs.ErrRequest
		}
		if n > 0 {
			l.works[n-1].next = addressOf(w)
		}
		n++
	}
	return n, nil
}

// place puts the segments of a request, or its inline bytes, into the list. It has the same results
// as segments.add.
func (l *sendList) place(r *uverbs.SendRequest) (at uintptr, n int32, full bool, err error) {
	if r.Flags&uverbs.FlagInline == 0 {
		return l.segments.add(r.Segments, l.siw && r.Op == uverbs.OpRead)
	}
	length := 0
	for i := range r.Segments {
		length += len(r.Segments[i].Data)
	}
	switch {
	case length > l.inlineMax:
		return 0, 0, false, uverbs.ErrRequest
	case length == 0:
		return 0, 0, false, nil
	case l.inlineUsed+length > len(l.inline) || l.segments.used == len(l.segments.array):
		return 0, 0, true, nil
	}
	first := l.inlineUsed
	for i := range r.Segments {
		l.inlineUsed += copy(l.inline[l.inlineUsed:], r.Segments[i].Data)
	}
	s := &l.segments.array[l.segments.used]
	*s = segment{address: uint64(addressOf(&l.inline[first])), length: uint32(length)}
	l.segments.used++
	return addressOf(s), 1, false, nil
}

// start posts the n requests in the list and returns the number of posted requests.
func (l *sendList) start(f function, queue uintptr, n int) (int, error) {
	l.bad = 0
	return posted(invoke(f, queue, addressOf(&l.works), addressOf(&l.bad)), addressOf(&l.works), l.bad, sizeOf[sendWork](), n)
}

// receiveList is a list of receives in the library's layout. It is pinned.
type receiveList struct {
	works    [listMax]receiveWork
	bad      uintptr
	segments segments
	// siw is true for libsiw, which refuses receives without a segment.
	siw bool
	pin goruntime.Pinner
}

func newReceiveList(maxSegments int, siw bool) *receiveList {
	l := &receiveList{siw: siw}
	l.segments.init(maxSegments)
	l.pin.Pin(l)
	return l
}

func (l *receiveList) close() {
	l.pin.Unpin()
	l.segments.pin.Unpin()
}

// post posts receives to a queue by the function f, and returns the number of posted receives.
func (l *receiveList) post(c *Context, f function, queue uintptr, list []uverbs.ReceiveRequest) (int, error) {
	done := 0
	for done < len(list) {
		n, wrong := l.fill(list[done:])
		if n > 0 {
			l.bad = 0
			m, err := posted(invoke(f, queue, addressOf(&l.works), addressOf(&l.bad)), addressOf(&l.works), l.bad, sizeOf[receiveWork](), n)
			if done += m; err != nil {
				return done, c.postError("post receives", err)
			}
		}
		if wrong != nil {
			return done, wrong
		}
	}
	return done, nil
}

func (l *receiveList) fill(list []uverbs.ReceiveRequest) (int, error) {
	l.segments.used = 0
	n := 0
	for n < len(list) && n < listMax {
		at, count, full, err := l.segments.add(list[n].Segments, l.siw)
		if err != nil {
			return n, err
		}
		if full {
			break
		}
		w := &l.works[n]
		*w = receiveWork{id: list[n].ID, segments: at, count: count}
		if n > 0 {
			l.works[n-1].next = addressOf(w)
		}
		n++
	}
	return n, nil
}

// posted returns how many of the n requests of a list the library has posted. If answer reports no
// error, the library has posted all n requests. Otherwise it has posted the requests before the
// refused request. The argument bad is the address of the refused request.
func posted(answer int, first, bad, size uintptr, n int) (int, error) {
	if answer == 0 {
		return n, nil
	}
	errno := syscall.Errno(max(answer, -answer))
	if bad < first || bad >= first+uintptr(n)*size {
		return 0, nonsense("%v, and the refused request is none of those that were posted", errno)
	}
	return int((bad - first) / size), errno
}

// postError translates the errno of a post. It does not wrap ErrFull, because a full queue is
// frequent and the wrapping costs time.
func (c *Context) postError(op string, err error) error {
	switch errno, _ := errors.AsType[syscall.Errno](err); errno {
	case syscall.ENOMEM, syscall.ENOSPC, syscall.EAGAIN:
		return uverbs.ErrFull
	case syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENOSYS:
		return c.err(op, fmt.Errorf("%w: %w", uverbs.ErrRequest, err))
	default:
		return c.err(op, err)
	}
}
