package message

import (
	"cmp"
	"slices"
	"sync"
)

// Call is one rank's arguments of an operation, which were checked. Buffers that the
// operation does not use at this rank may be nil.
//
//	barrier                nothing
//	bcast                  Recv, which root sends
//	reduce                 Send; Recv at root
//	allreduce, scan        Send, Recv, of the same length
//	exscan                 the same; Recv of rank 0 stays as it is
//	reducescatter          Send of SendParts, which follow each other; Recv of this rank's part
//	reducescatterblock     the same with equal parts
//	gather, gatherv        Send; Recv of RecvParts at root, which alone knows them
//	scatter, scatterv      Send of SendParts at root, which alone knows them; Recv
//	allgather, allgatherv  Send; Recv of RecvParts
//	alltoall, alltoallv    Send of SendParts, Recv of RecvParts
//	neighborallgather(v), neighboralltoall(v)
//	                       Send of SendParts for Dests, Recv of RecvParts from Sources
//
// Recv may be Send in reduce, allreduce, scan, exscan and, where the algorithm allows it,
// alltoall. Send may be this rank's part of Recv in gather, gatherv, allgather and
// allgatherv; Recv may be this rank's part of Send in scatter, scatterv, reducescatter and
// reducescatterblock. They share no other bytes. Algorithms do not write to Send.
type Call struct {
	Send, Recv           []byte
	SendParts, RecvParts Parts
	Root                 int
	Reduction            Reduction
	// Sources and Dests are the ranks of the neighbors, negative where there is none. Parts
	// for a rank that is a neighbor several times are in Dests in the order in which that
	// rank has this one in its Sources.
	Sources, Dests []int
}

// Parts is how a buffer is cut into the blocks of the ranks. The zero Parts are empty
// blocks.
type Parts struct {
	each   int
	uneven *uneven // nil if the blocks have the same length and follow each other
}

// uneven are blocks in bytes.
type uneven struct{ counts, displs, order []int }

// spare has those that were released.
var spare = sync.Pool{New: func() any { return new(uneven) }}

// Equal returns blocks of n bytes that follow each other.
func Equal(n int) Parts { return Parts{each: n} }

// Uneven returns blocks of counts units at displs units from the beginning of the buffer,
// or one after the other if displs is nil. The displacement of an empty block means nothing. unit
// is the length of a unit in bytes. Uneven keeps neither slice.
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

// Release ends the use of blocks, of this and all copies of it: others may use their memory.
func (p Parts) Release() {
	if p.uneven != nil {
		spare.Put(p.uneven)
	}
}

// Shared returns two blocks that share bytes, if there are any.
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

// end returns where block i ends.
func (u *uneven) end(i int) int { return u.displs[i] + u.counts[i] }

// Even reports whether the blocks follow each other.
func (p Parts) Even() bool { return p.uneven == nil }

// Count returns the length of block i in bytes.
func (p Parts) Count(i int) int {
	if p.uneven == nil {
		return p.each
	}
	return p.uneven.counts[i]
}

// Offset returns where block i begins, in bytes.
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
