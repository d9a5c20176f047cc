package message

import (
	"cmp"
	"slices"
	"sync"
)

// Call has the arguments that one rank passes to an operation. The caller has checked them. The
// following table lists the fields that each operation uses. A buffer that the operation does not
// use at this rank may be nil.
//
//	barrier                none
//	bcast                  Recv, which root sends and the other ranks receive
//	reduce                 Send; Recv at root
//	allreduce, scan        Send, Recv, of the same length
//	exscan                 Send, Recv, of the same length; Recv of rank 0 stays unchanged
//	reducescatter          Send with SendParts, which follow each other; Recv, for this rank's part
//	reducescatterblock     as reducescatter, with equal parts
//	gather, gatherv        Send; Recv and RecvParts at root only
//	scatter, scatterv      Send and SendParts at root only; Recv
//	allgather, allgatherv  Send; Recv with RecvParts
//	alltoall, alltoallv    Send with SendParts, Recv with RecvParts
//	neighborallgather(v), neighboralltoall(v)
//	                       Send with SendParts for Dests, Recv with RecvParts from Sources
//
// Send and Recv may be the same memory, as with MPI_IN_PLACE, in reduce, allreduce, scan, exscan
// and, if the algorithm allows it, in alltoall and alltoallv. Send may be the same memory as this
// rank's part of Recv in gather, gatherv, allgather and allgatherv. Recv may be the same memory as
// this rank's part of Send in scatter, scatterv, reducescatter and reducescatterblock. Otherwise
// Send and Recv share no bytes. Algorithms do not write to Send.
type Call struct {
	Send, Recv           []byte
	SendParts, RecvParts Parts
	Root                 int
	Reduction            Reduction
	// Sources and Dests are the ranks of the neighbors; a negative number means that there is no
	// neighbor. If a rank d is in Dests several times, this rank is in the Sources of d as often.
	// The parts for d arrive in order: the first part is received at the first of these places in
	// Sources, the second part at the second place, and so on.
	Sources, Dests []int
}

// Parts describes the blocks of a buffer, one for each rank or neighbor. The blocks of the zero Parts
// are empty.
type Parts struct {
	each   int
	uneven *uneven // nil if the blocks have the same length and follow each other
}

// uneven has the lengths and displacements of blocks, in bytes. order is scratch memory of the method
// Parts.Shared.
type uneven struct{ counts, displs, order []int }

// spare has the memory of Parts that were released, for later calls of Uneven.
var spare = sync.Pool{New: func() any { return new(uneven) }}

// Equal returns blocks of n bytes that follow each other.
func Equal(n int) Parts { return Parts{each: n} }

// Uneven returns blocks of different lengths: block i has counts[i] units and begins displs[i] units
// after the beginning of the buffer. If displs is nil, the blocks follow each other. unit is the length
// of a unit in bytes. The displacement of an empty block is ignored. Uneven copies both slices.
func Uneven(counts, displs []int, unit int) Parts {
	u := spare.Get().(*uneven)
	u.counts, u.displs = u.counts[:0], u.displs[:0]
	end := 0
	for i, n := range counts {
		at := 0
		switch {
		case displs == nil:
			at = end
		case n > 0:
			at = displs[i] * unit
		}
		u.counts, u.displs = append(u.counts, n*unit), append(u.displs, at)
		end += n * unit
	}
	return Parts{uneven: u}
}

// Release makes the memory of p available to later calls of Uneven. p and all its copies must not be
// used any more.
func (p Parts) Release() {
	if p.uneven != nil {
		spare.Put(p.uneven)
	}
}

// Shared returns the numbers of two blocks that share bytes, and reports whether two such blocks
// exist.
func (p Parts) Shared() (i, j int, found bool) {
	u := p.uneven
	if u == nil {
		return 0, 0, false
	}
	rising := true
	u.order = u.order[:0]
	for i, n := range u.counts {
		if n == 0 {
			continue
		}
		if last := len(u.order) - 1; last >= 0 {
			rising = rising && u.end(u.order[last]) <= u.displs[i]
		}
		u.order = append(u.order, i)
	}
	if rising {
		return 0, 0, false
	}
	slices.SortFunc(u.order, func(i, j int) int { return cmp.Compare(u.displs[i], u.displs[j]) })
	for k := 1; k < len(u.order); k++ {
		if i, j := u.order[k-1], u.order[k]; u.end(i) > u.displs[j] {
			return min(i, j), max(i, j), true
		}
	}
	return 0, 0, false
}

// end returns the offset of the end of block i, in bytes.
func (u *uneven) end(i int) int { return u.displs[i] + u.counts[i] }

// Even reports whether p is a result of Equal or the zero Parts: then the blocks have equal lengths and follow each
// other.
func (p Parts) Even() bool { return p.uneven == nil }

// Count returns the length of block i in bytes.
func (p Parts) Count(i int) int {
	if p.uneven == nil {
		return p.each
	}
	return p.uneven.counts[i]
}

// Offset returns the offset of block i in the buffer, in bytes.
func (p Parts) Offset(i int) int {
	if p.uneven == nil {
		return i * p.each
	}
	return p.uneven.displs[i]
}

// Of returns block i of buf.
func (p Parts) Of(buf []byte, i int) []byte {
	from := p.Offset(i)
	to := from + p.Count(i)
	return buf[from:to:to]
}

// Longest returns the length of the longest of the first size blocks.
func (p Parts) Longest(size int) int {
	longest := 0
	for i := range size {
		longest = max(longest, p.Count(i))
	}
	return longest
}
