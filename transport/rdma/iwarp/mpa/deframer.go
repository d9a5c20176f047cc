package mpa

import "encoding/binary"

// Phase is the part of an FPDU that a Deframer expects next.
type Phase uint8

// The phases, in the order of the stream.
const (
	PhaseLength  Phase = iota // the length field
	PhaseULPDU                // the ULPDU
	PhaseTrailer              // padding and CRC
)

// Deframer parses one direction of a stream of FPDUs. TCP may deliver the stream in pieces of any
// length (RFC 5044 section 5.1). A Deframer copies no ULPDU. The caller asks how many bytes come
// next, reads these bytes into the memory where they belong, and passes them to Feed. Feed
// computes the checksum.
//
//	for {
//		part := next(d.Left())     // at most that many bytes, of d.Phase()
//		err := d.Feed(part)
//		...
//	}
//
// The zero value is ready for use and checks no CRCs. NewDeframer makes a Deframer that can check
// CRCs.
type Deframer struct {
	on    bool
	phase Phase
	left  int // missing bytes of the ULPDU or the trailer
	ulpdu int
	crc   uint32
	kept  [TrailerMax]byte // the bytes of the length field or trailer that have arrived
	held  int              // the number of bytes in kept
}

// NewDeframer returns a Deframer at the boundary between two FPDUs. It checks CRCs if on is true.
func NewDeframer(on bool) Deframer { return Deframer{on: on} }

// Phase returns the part of the FPDU that comes next.
func (d *Deframer) Phase() Phase { return d.phase }

// Left returns the number of missing bytes of the current phase. It is at least one.
func (d *Deframer) Left() int {
	if d.phase == PhaseLength {
		return HeaderLength - d.held
	}
	return d.left
}

// ULPDU returns the length of the current ULPDU. It is known from PhaseULPDU on.
func (d *Deframer) ULPDU() int { return d.ulpdu }

// Boundary reports whether the stream is between two FPDUs. A connection that ends at such a
// boundary ends in order.
func (d *Deframer) Boundary() bool { return d.phase == PhaseLength && d.held == 0 }

// Feed accounts for bytes of the current phase, at most Left of them. At the end of a phase the
// next phase begins. For a ULPDU of length zero, PhaseULPDU is skipped. The only error is ErrCRC.
// After this error the stream is lost (RFC 5044 section 8).
func (d *Deframer) Feed(p []byte) error {
	if len(p) > d.Left() {
		panic("mpa: fed beyond the phase")
	}
	switch d.phase {
	case PhaseLength:
		return d.feedLength(p)
	case PhaseULPDU:
		if d.on {
			d.crc = Checksum(d.crc, p)
		}
		if d.left -= len(p); d.left == 0 {
			d.enterTrailer()
		}
		return nil
	default:
		return d.feedTrailer(p)
	}
}

func (d *Deframer) feedLength(p []byte) error {
	d.held += copy(d.kept[d.held:HeaderLength], p)
	if d.held < HeaderLength {
		return nil
	}
	d.ulpdu = int(binary.BigEndian.Uint16(d.kept[:]))
	d.crc = 0
	if d.on {
		d.crc = Checksum(0, d.kept[:HeaderLength])
	}
	d.phase, d.left = PhaseULPDU, d.ulpdu
	if d.left == 0 {
		d.enterTrailer()
	}
	return nil
}

func (d *Deframer) enterTrailer() {
	d.phase, d.left, d.held = PhaseTrailer, Pad(d.ulpdu)+CRCLength, 0
}

func (d *Deframer) feedTrailer(p []byte) error {
	d.held += copy(d.kept[d.held:], p)
	if d.left -= len(p); d.left > 0 {
		return nil
	}
	at := d.held - CRCLength
	// The CRC covers the padding. The padding is not checked for zeros: senders must send zeros,
	// but receivers need not check them (RFC 5044 section 4.1).
	good := !d.on || Checksum(d.crc, d.kept[:at]) == binary.LittleEndian.Uint32(d.kept[at:])
	d.phase, d.held = PhaseLength, 0
	if !good {
		return ErrCRC
	}
	return nil
}
