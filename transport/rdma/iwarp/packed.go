package iwarp

import (
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/packing"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// flagPacked is one of the bits that RFC 5041 reserves in the first octet of a segment. If this bit
// is set, the payload of the segment is an S2 block. Only a peer that runs this module gets such a
// segment.
const flagPacked = 0x20

// look returns the delivery rate that TCP_INFO reports, and whether the link rather than the peer
// limits this rate.
func (p *queuePair) look() packing.Pace {
	info, err := unix.GetsockoptTCPInfo(p.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return packing.Pace{}
	}
	busy, stalled := info.Busy_time-p.tx.busy, info.Rwnd_limited-p.tx.stalled
	p.tx.busy, p.tx.stalled = info.Busy_time, info.Rwnd_limited
	// If the peer's receive window was full for half of the busy time or longer, the bottleneck may
	// be the peer's processor.
	return packing.Pace{Rate: float64(info.Delivery_rate), Bound: stalled < busy/2}
}

// pack compresses the next n bytes of the current message. It returns nil and consumes no bytes if
// these bytes are to be sent uncompressed.
func (p *queuePair) pack(n int) []byte {
	k := &p.tx.packer
	if !p.agreed.Kin || !k.wants(n, p.look) {
		return nil
	}
	from := p.tx.message.place
	payload := from.next(n)
	if len(payload) < n {
		k.whole = append(k.whole[:0], payload...)
		for len(k.whole) < n {
			k.whole = append(k.whole, from.next(n-len(k.whole))...)
		}
		payload = k.whole
	}
	if !k.promises(payload) {
		return nil
	}
	began := time.Now()
	packed := k.pack(payload)
	if packed == nil || !k.judge(n, len(packed), time.Since(began)) {
		return nil
	}
	k.keep(packed)
	p.tx.message.place = from
	p.packedFrom += uint64(n)
	p.packedTo += uint64(len(packed))
	p.device.counters.PackedFrom.Add(uint64(n))
	p.device.counters.PackedTo.Add(uint64(len(packed)))
	return packed
}

// isPacked reports whether a segment with this first octet has a compressed payload. It returns
// false if the peer has not proved its identity yet, because segments of such a peer are never
// decompressed (see guarded).
func (p *queuePair) isPacked(first byte) bool {
	return first&flagPacked != 0 && p.agreed.Kin && p.rx.guard == guardNone
}

// unpacked returns a ULPDU with its payload decompressed and flagPacked cleared. The result is
// valid until the next call of unpacked for any connection of the device.
func (p *queuePair) unpacked(ulpdu []byte) ([]byte, error) {
	header := ddp.Length(ulpdu[0])
	if len(ulpdu) <= header {
		return nil, mpa.ErrLength
	}
	n, err := s2.DecodedLen(ulpdu[header:])
	if err != nil || header+n > mpa.ULPDUMax {
		return nil, mpa.ErrLength
	}
	d := p.device
	if d.unpacked == nil {
		d.unpacked = make([]byte, mpa.ULPDUMax)
	}
	b := d.unpacked[:header+n]
	if _, err := s2.Decode(b[header:], ulpdu[header:]); err != nil {
		return nil, mpa.ErrLength
	}
	copy(b, ulpdu[:header])
	b[0] &^= flagPacked
	return b, nil
}

// Explain implements provider.Explainer. It returns a text with the amount of payload that was sent
// compressed. It returns "" if no payload was sent compressed.
func (p *queuePair) Explain() string {
	const mib = 1 << 20
	if p.packedFrom == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f MiB sent compressed to %.1f MiB", float64(p.packedFrom)/mib, float64(p.packedTo)/mib)
}
