package iwarp

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// placement is the memory to which the payload of a segment is written, or from which it is read.
// It consists of the unused rest of one piece of memory and a list of further pieces.
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

// fill copies bytes to the placement and advances past them. The caller has checked the length of
// the segment, so b does not exceed the placement.
func (p *placement) fill(b []byte) {
	for len(b) > 0 {
		to := p.next(len(b))
		if to == nil {
			return
		}
		b = b[copy(to, b):]
	}
}

// vector describes the next n bytes of the placement for a vectored read. It does not advance past
// them. It returns the number of entries of v that it has used, and the number of bytes in these
// entries. The number of bytes is less than n if v has too few entries or if the placement ends.
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
