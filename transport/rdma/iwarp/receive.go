package iwarp

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// headMax is the length of the longest head. The head is the part at the beginning of a ULPDU
	// that is parsed. The bytes after the head are placed in memory. The longest head is the head
	// of a Terminate message.
	headMax = ddp.UntaggedLength + rdmap.TerminateLengthMax
	// directMin is a number of bytes. If at least directMin bytes of a payload are missing, they are
	// read directly into their target.
	directMin = 2048
	// tailLength is the number of bytes after a payload that a read takes if it reads the last bytes of
	// the payload directly into their target. These bytes are the trailer, and the head of the next
	// FPDU. The read takes no more bytes, so that the payload of the next FPDU can also be read directly
	// into its target.
	tailLength = mpa.TrailerMax + mpa.HeaderLength + headMax
	// If the payload of a segment has bulkMin bytes or more, the next segment is expected to be
	// long, too. In this case at most bulkHead bytes are read until the target of the next payload
	// is known.
	bulkMin  = 16 << 10
	bulkHead = 256
	// receiveBudget is the budget of a call of receive on a connection that has not failed.
	receiveBudget = 1 << 20
)

// receiver is the state of the inbound direction of a connection.
type receiver struct {
	deframer mpa.Deframer
	crc      bool
	// first is true once an FPDU has arrived.
	first bool
	// guard limits the messages that are accepted from a peer that has not proved its identity.
	guard guard

	// The following fields describe the current segment. head collects the bytes of the segment's head. held is
	// the number of bytes that head contains so far.
	head  [headMax]byte
	held  int
	begun bool // the head is complete, and beginSegment has parsed it
	// packing is true while a compressed segment arrives in pieces; packed holds the pieces so far.
	packing bool
	packed  []byte
	opcode  rdmap.Opcode
	tagged  ddp.Tagged
	// untagged is the header of an untagged segment.
	untagged ddp.Untagged
	// payload is the length of the payload. left is the number of bytes of the payload that are not
	// placed yet, and place is the memory for these bytes.
	payload, left int
	place         placement
	region        *region // the region that a Write fills
	// fault is the protocol error of the segment. This side acts on the fault only after the CRC
	// has proved that the peer sent the segment in this form.
	fault error

	queues  [rdmap.Queues]ddp.Queue
	inbound rdmap.InboundQueue
	// message is the receive that an incomplete Send fills.
	message *provider.Receive
	// single is true if the last read returned exactly one Send, with more than copyMax bytes of
	// payload.
	single bool
	// phase is the offset in the staging memory at which a read begins. If the next message is like
	// the last message, this phase gives its payload the same offset within a cache line in the
	// staging memory as in its target.
	phase int
}

// shown returns the current segment in the form that a Terminate message quotes.
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

// receive reads and processes the data that has arrived, until it has read as many bytes as the budget
// allows. It returns the number of reads that returned data, an error or the end of the stream.
func (p *queuePair) receive(budget int) int {
	done := 0
	for total := 0; total < budget; {
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
			// The read returned fewer bytes than it requested, so TCP had no more data. epoll will
			// report the data that arrives from now on.
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

// read reads once and processes the bytes. It returns the number of bytes that it has read, and the
// number of bytes that it has requested.
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
		_ = r.deframer.Feed(piece) // Feed finds no error before the trailer
	}
	if n > placed {
		p.consume(d.staging[:n-placed])
	}
	return n, want, errno
}

// consume processes the next bytes of the stream.
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
			if err != mpa.ErrShort { //nolint:errorlint // Whole returns it unwrapped, and this code runs for every FPDU
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

// whole processes a ULPDU that has arrived completely and whose CRC is right.
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

// absorb takes bytes of a ULPDU that arrives in pieces, either of its head or of its payload. It
// returns the bytes that it has taken, which are the first bytes of part.
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

// headNeed returns the number of bytes that are needed to parse the beginning of a ULPDU. The
// argument b holds the first bytes of the ULPDU, and the argument ulpdu is its length. As long as b
// has fewer than two bytes, the result is two, because the first two bytes determine the length of
// the header. From then on the result is the length of the header. For a Read Request or a
// Terminate message the result is the length of the whole message.
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
