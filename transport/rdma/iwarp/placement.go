package iwarp

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// placement is the memory that the payload of a segment is written to or read from: the rest of one
// piece, then a list of pieces.
type placement struct {
	piece []byte
	rest  []provider.Segment
}

// placeAt returns the part of a list of pieces that begins at an offset.
func placeAt(list []provider.Segment, offset int) placement {
	for i := range list {
		if offset < len(list[i].Data) {
			return placement{piece: list[i].Data[offset:], rest: list[i+1:]}
		}
		offset -= len(list[i].Data)
	}
	return placement{}
}

// next returns the next bytes of the placement, at most n and at least one, and advances past them.
// It returns nil at the end of the placement.
func (p *placement) next(n int) []byte {
	for len(p.piece) == 0 {
		if len(p.rest) == 0 {
			return nil
		}
		p.piece, p.rest = p.rest[0].Data, p.rest[1:]
	}
	n = min(n, len(p.piece))
	b := p.piece[:n]
	p.piece = p.piece[n:]
	return b
}

// fill copies bytes to the placement and advances past them. Bytes beyond the end of the placement
// would be dropped, but there are none: the length of the segment was checked before.
func (p *placement) fill(b []byte) {
	for len(b) > 0 {
		to := p.next(len(b))
		if to == nil {
			return
		}
		b = b[copy(to, b):]
	}
}

// vector describes the next n bytes of the placement for a vectored read, and does not advance. It
// returns how many entries of v it has used, and how many bytes these entries have: fewer than n if
// v has too few entries or the placement ends.
func (p placement) vector(v []unix.Iovec, n int) (entries, total int) {
	for entries < len(v) && total < n {
		to := p.next(n - total)
		if to == nil {
			break
		}
		v[entries].Base = &to[0]
		v[entries].SetLen(len(to))
		entries++
		total += len(to)
	}
	return entries, total
}
