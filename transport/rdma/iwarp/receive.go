package iwarp

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// headMax is the longest part of a ULPDU that is looked at rather than placed: a
	// Terminate message.
	headMax = ddp.UntaggedLength + rdmap.TerminateLengthMax
	// directMin is how many bytes a placed payload must still lack to be read straight
	// into its target.
	directMin = 2048
	// tailLength is how much is read behind such a payload: the trailer and the head
	// of the next FPDU, not much more, because what follows it is better read straight
	// into its own target, too.
	tailLength = mpa.TrailerMax + mpa.HeaderLength + headMax
	// bulkMin is the payload of a segment after which the next is expected to be long,
	// too, so that no more than bulkHead is read until it is known where it goes.
	bulkMin  = 16 << 10
	bulkHead = 256
	// receiveBudget bounds what one run reads from one connection.
	receiveBudget = 1 << 20
)

// receiver is the inbound half of a connection.
type receiver struct {
	deframer mpa.Deframer
	crc      bool
	// first says that an FPDU has come.
	first bool
	// guard says what is taken of a peer that has not proved what it is.
	guard guard

	// The segment under way, while it comes in pieces: its head so far, and where its
	// payload goes.
	head  [headMax]byte
	held  int
	begun bool // the head is complete and was acted on
	// packing says that it is compressed, and packed is what there is of it.
	packing bool
	packed  []byte
	opcode  rdmap.Opcode
	tagged  ddp.Tagged
	// untagged is the header of an untagged segment.
	untagged ddp.Untagged
	// payload is the length of what follows the header, left what of it is missing.
	payload, left int
	place         placement
	region        *region // of a Write
	// fault is what is wrong with the segment. It is acted on when the CRC has shown
	// that the peer meant it.
	fault error

	queues  [rdmap.Queues]ddp.Queue
	inbound rdmap.InboundQueue
	// message is the receive that a Send under way fills.
	message *provider.Receive
	// single says that the last read was a Send as a whole, and not a short one.
	single bool
	// phase is where reads into the staging memory begin, so that the payload of a
	// message like the last lies there as it does in its target.
	phase int
}

// shown returns the segment under way for a Terminate.
func (r *receiver) shown() segmentShown {
	n := 0
	if r.held > 0 {
		n = ddp.Length(r.head[0])
	}
	if r.held < n {
		return segmentShown{}
	}
	s := segmentShown{header: append([]byte(nil), r.head[:n]...), length: n + r.payload}
	if r.opcode == rdmap.ReadRequestOpcode && r.held >= n+rdmap.ReadRequestLength && n == ddp.UntaggedLength {
		s.read = append([]byte(nil), r.head[n:n+rdmap.ReadRequestLength]...)
	}
	return s
}

// receive reads what has arrived, acts on it, and returns how much it did.
func (p *queuePair) receive() int {
	done := 0
	for total := 0; total < receiveBudget; {
		if p.rx.guard == guardShut {
			return done
		}
		n, want, errno := p.read()
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			p.readable = false
			return done
		case errno != 0:
			p.streamLost("receive", errno)
			return done + 1
		case n == 0:
			p.streamEnded()
			return done + 1
		}
		if p.fd < 0 {
			return done + 1
		}
		p.device.counters.Reads.Add(1)
		done++
		total += n
		if n < want && !p.hungUp && p.sealed == nil {
			// TCP had no more; what comes next makes an event.
			p.readable = false
			p.device.touch(p)
			return done
		}
	}
	p.device.touch(p)
	p.readable = true
	p.device.later(p)
	return done
}

// read reads once and acts on it. It returns how much it has got and how much it
// would have taken.
func (p *queuePair) read() (n, want int, errno unix.Errno) {
	d, r := p.device, &p.rx
	if r.region != nil && r.region.revoked && r.left > 0 {
		r.place, r.region, r.fault = placement{}, nil, ddp.ErrSTag
	}
	if r.left < directMin || r.fault != nil || r.guard != guardNone {
		b := p.ahead()
		if r.guard != guardNone {
			b = d.staging[:min(r.deframer.Left(), stagingLength)]
		}
		if p.sealed == nil {
			n, errno = receive(p.fd, b)
		} else {
			n, errno = p.sealed.read(b)
		}
		if n <= 0 {
			return n, len(b), errno
		}
		if r.single {
			p.consume(p.settled(b[:n]))
		} else {
			p.consume(b[:n])
		}
		r.single = r.payload > copyMax && n == headroom+r.payload+mpa.Pad(ddp.UntaggedLength+r.payload)+mpa.CRCLength
		return n, len(b), errno
	}
	entries, direct := r.place.vector(d.vector[:segmentsMax], r.left)
	if direct == r.left {
		d.vector[entries].Base = &d.staging[0]
		d.vector[entries].SetLen(tailLength)
		entries++
		want = tailLength
	}
	want += direct
	if p.sealed == nil {
		n, errno = receiveVector(p.fd, d.vector[:entries])
	} else {
		n, errno = p.sealed.read(bytesOf(&d.vector[0]))
	}
	if n <= 0 {
		return n, want, errno
	}
	placed := min(n, direct)
	d.counters.BytesPlaced.Add(uint64(placed))
	for left := placed; left > 0; {
		piece := r.place.next(left)
		left -= len(piece)
		r.left -= len(piece)
		_ = r.deframer.Feed(piece) // no error before the trailer
	}
	if n > placed {
		p.consume(d.staging[:n-placed])
	}
	return n, want, errno
}

// consume acts on bytes of the stream.
func (p *queuePair) consume(b []byte) {
	r := &p.rx
	for len(b) > 0 && p.fd >= 0 {
		if r.deframer.Boundary() {
			ulpdu, n, err := mpa.Whole(b, r.crc)
			if err == nil {
				b = b[n:]
				p.whole(ulpdu)
				continue
			}
			if err != mpa.ErrShort { //nolint:errorlint // as Whole returns it, on every FPDU
				p.breach(err, segmentShown{})
				return
			}
		}
		part := b[:min(len(b), r.deframer.Left())]
		trailer := r.deframer.Phase() == mpa.PhaseTrailer
		if r.deframer.Phase() == mpa.PhaseULPDU {
			part = p.absorb(part)
		}
		b = b[len(part):]
		if err := r.deframer.Feed(part); err != nil {
			p.breach(err, segmentShown{})
			return
		}
		if trailer && r.deframer.Boundary() {
			p.complete()
		}
	}
}

// whole acts on a ULPDU that is there as a whole, and whose CRC is right.
func (p *queuePair) whole(ulpdu []byte) {
	if len(ulpdu) > 0 && p.isPacked(ulpdu[0]) {
		var err error
		if ulpdu, err = p.unpacked(ulpdu); err != nil {
			p.breach(err, segmentShown{})
			return
		}
	}
	if p.plain(ulpdu) {
		return
	}
	r := &p.rx
	need := headNeed(ulpdu, len(ulpdu))
	r.held = copy(r.head[:], ulpdu[:need])
	p.beginSegment(len(ulpdu))
	if r.fault == nil && r.left > 0 {
		if r.left > copyMax {
			r.phase = linePhase(r.place.piece, mpa.HeaderLength+need)
		}
		r.place.fill(ulpdu[need:])
		p.device.counters.BytesCopied.Add(uint64(r.left))
	}
	p.complete()
}

// absorb takes a part of a ULPDU that comes in pieces: a part of the head, or of the
// payload. It returns what it has taken of it.
func (p *queuePair) absorb(part []byte) []byte {
	r := &p.rx
	ulpdu := r.deframer.ULPDU()
	if r.packing || !r.begun && r.held == 0 && p.isPacked(part[0]) {
		r.packing, r.payload, r.packed = true, 0, append(r.packed, part...)
		return part
	}
	if !r.begun {
		need := headNeed(r.head[:r.held], ulpdu)
		n := copy(r.head[r.held:need], part)
		r.held += n
		if r.held >= headNeed(r.head[:r.held], ulpdu) {
			p.beginSegment(ulpdu)
		}
		return part[:n]
	}
	if r.fault == nil && r.left > 0 {
		part = part[:min(len(part), r.left)]
		r.place.fill(part)
		p.device.counters.BytesCopied.Add(uint64(len(part)))
		r.left -= len(part)
	}
	return part
}

// headNeed returns how many bytes of a ULPDU that begins with b have to be looked at
// together: two, which tell how long the header is, then the header, of a Read
// Request and of a Terminate message all.
func headNeed(b []byte, ulpdu int) int {
	if len(b) < 2 {
		return min(2, ulpdu)
	}
	n := ddp.Length(b[0])
	if !ddp.Tag(b[0]) {
		switch o, err := rdmap.CheckControl(b[0], b[1]); {
		case err != nil:
		case o == rdmap.ReadRequestOpcode:
			n += rdmap.ReadRequestLength
		case o == rdmap.TerminateOpcode:
			n += rdmap.TerminateLengthMax
		}
	}
	return min(n, ulpdu)
}
