package iwarp

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// placement is where the payload of a segment goes: the rest of one piece of memory,
// then a list of them.
type placement struct {
	piece []byte
	rest  []provider.Segment
}

// placeAt returns the memory of a list from an offset on.
func placeAt(list []provider.Segment, offset int) placement {
	for i := range list {
		if offset < len(list[i].Data) {
			return placement{piece: list[i].Data[offset:], rest: list[i+1:]}
		}
		offset -= len(list[i].Data)
	}
	return placement{}
}

// next returns the next bytes to fill, at most n of them and at least one, if there
// are any.
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

// fill copies bytes to where they belong. What does not fit is dropped: the segment
// was checked before, so nothing is.
func (p *placement) fill(b []byte) {
	for len(b) > 0 {
		to := p.next(len(b))
		if to == nil {
			return
		}
		b = b[copy(to, b):]
	}
}

// vector describes the next n bytes to fill for a read, as far as it has room, and
// returns how many of its entries and of the bytes are used.
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
