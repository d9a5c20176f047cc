package collectives_test

import (
	"slices"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// gap is the value of the elements between the blocks of a buffer, which no operation may change.
const gap = -7

// raggedCount returns the number of elements of block i, between 0 and n.
func raggedCount(i, n int) int { return (5*i + n) % (n + 1) }

// pairCount returns the number of elements that one rank (the argument from) sends to another rank (the argument to)
// in an AllToAllV.
func pairCount(from, to, n int) int { return (3*from + 5*to + n) % (n + 1) }

// blocksOf returns the counts and displacements of blocks, one for each of size ranks, and the
// length of the buffer. The blocks are in the reverse order of the ranks, with a gap of one element
// before and after each.
func blocksOf(size int, count func(i int) int) (counts, displs []int, length int) {
	counts, displs, length = make([]int, size), make([]int, size), 1
	for i := size - 1; i >= 0; i-- {
		counts[i], displs[i] = count(i), length
		length += counts[i] + 1
	}
	return counts, displs, length
}

// laid returns a buffer that contains the given blocks, and gaps between them.
func laid(counts, displs []int, length int, block func(i, n int) []int64) []int64 {
	v := slices.Repeat([]int64{gap}, length)
	for i, n := range counts {
		copy(v[displs[i]:], block(i, n))
	}
	return v
}

// joined returns the concatenation of the blocks.
func joined(size, n int, block func(i, n int) []int64) []int64 {
	var all []int64
	for i := range size {
		all = append(all, block(i, n)...)
	}
	return all
}

// exchange returns the trial (forms_test.go) of an operation on the buffers send and recv. Before
// the operation the test fills recv with the value gap, and then copies the slice sent to the slice send. After the
// operation, send must equal wantSend, and recv must equal wantRecv.
func exchange(c *runtime.Comm, name string, inPlace bool, send, recv, sent, wantSend, wantRecv []int64) trial {
	if inPlace {
		name += " in place"
	}
	return trial{
		name: name,
		fill: func() {
			for i := range recv {
				recv[i] = gap
			}
			copy(send, sent)
		},
		check: func() error {
			if err := equal(c, "recv of "+name, recv, wantRecv); err != nil {
				return err
			}
			return equal(c, "send of "+name, send, wantSend)
		},
	}
}

func gatherTrial(c *runtime.Comm, n, root int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	send, mine := make([]int64, n), numbers[int64](rank, n)
	var recv, want []int64
	if rank == root {
		recv, want = make([]int64, n*size), joined(size, n, numbers[int64])
		if inPlace {
			send = recv[rank*n:][:n]
		}
	}
	k := exchange(c, "gather", inPlace, send, recv, mine, mine, want)
	k.wait = func() error { return collectives.Gather(c, send, recv, root) }
	k.start = func() runtime.Request { return collectives.IGather(c, send, recv, root) }
	k.setUp = func() *runtime.Persistent { return collectives.GatherInit(c, send, recv, root) }
	return k
}

func gatherVTrial(c *runtime.Comm, n, root int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	count := raggedCount(rank, n)
	send, mine := make([]int64, count), numbers[int64](rank, count)
	var recv, want []int64
	var counts, displs []int
	if rank == root {
		var length int
		counts, displs, length = blocksOf(size, func(i int) int { return raggedCount(i, n) })
		recv, want = make([]int64, length), laid(counts, displs, length, numbers[int64])
		if inPlace {
			send = recv[displs[rank]:][:count]
		}
	}
	k := exchange(c, "gatherv", inPlace, send, recv, mine, mine, want)
	k.wait = func() error { return collectives.GatherV(c, send, recv, counts, displs, root) }
	k.start = func() runtime.Request { return collectives.IGatherV(c, send, recv, counts, displs, root) }
	k.setUp = func() *runtime.Persistent { return collectives.GatherVInit(c, send, recv, counts, displs, root) }
	return k
}

func scatterTrial(c *runtime.Comm, n, root int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	recv, want := make([]int64, n), numbers[int64](rank, n)
	var send, all []int64
	if rank == root {
		send, all = make([]int64, n*size), joined(size, n, numbers[int64])
		if inPlace {
			recv = send[rank*n:][:n]
		}
	}
	k := exchange(c, "scatter", inPlace, send, recv, all, all, want)
	k.wait = func() error { return collectives.Scatter(c, send, recv, root) }
	k.start = func() runtime.Request { return collectives.IScatter(c, send, recv, root) }
	k.setUp = func() *runtime.Persistent { return collectives.ScatterInit(c, send, recv, root) }
	return k
}

func scatterVTrial(c *runtime.Comm, n, root int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	count := raggedCount(rank, n)
	recv, want := make([]int64, count), numbers[int64](rank, count)
	var send, all []int64
	var counts, displs []int
	if rank == root {
		var length int
		counts, displs, length = blocksOf(size, func(i int) int { return raggedCount(i, n) })
		send, all = make([]int64, length), laid(counts, displs, length, numbers[int64])
		if inPlace {
			recv = send[displs[rank]:][:count]
		}
	}
	k := exchange(c, "scatterv", inPlace, send, recv, all, all, want)
	k.wait = func() error { return collectives.ScatterV(c, send, counts, displs, recv, root) }
	k.start = func() runtime.Request { return collectives.IScatterV(c, send, counts, displs, recv, root) }
	k.setUp = func() *runtime.Persistent { return collectives.ScatterVInit(c, send, counts, displs, recv, root) }
	return k
}

func allGatherTrial(c *runtime.Comm, n int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	send, mine, recv := make([]int64, n), numbers[int64](rank, n), make([]int64, n*size)
	if inPlace {
		send = recv[rank*n:][:n]
	}
	k := exchange(c, "allgather", inPlace, send, recv, mine, mine, joined(size, n, numbers[int64]))
	k.wait = func() error { return collectives.AllGather(c, send, recv) }
	k.start = func() runtime.Request { return collectives.IAllGather(c, send, recv) }
	k.setUp = func() *runtime.Persistent { return collectives.AllGatherInit(c, send, recv) }
	return k
}

func allGatherVTrial(c *runtime.Comm, n int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	count := raggedCount(rank, n)
	counts, displs, length := blocksOf(size, func(i int) int { return raggedCount(i, n) })
	send, mine, recv := make([]int64, count), numbers[int64](rank, count), make([]int64, length)
	if inPlace {
		send = recv[displs[rank]:][:count]
	}
	k := exchange(c, "allgatherv", inPlace, send, recv, mine, mine, laid(counts, displs, length, numbers[int64]))
	k.wait = func() error { return collectives.AllGatherV(c, send, recv, counts, displs) }
	k.start = func() runtime.Request { return collectives.IAllGatherV(c, send, recv, counts, displs) }
	k.setUp = func() *runtime.Persistent { return collectives.AllGatherVInit(c, send, recv, counts, displs) }
	return k
}

func allToAllTrial(c *runtime.Comm, n int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	out := joined(size, n, func(i, n int) []int64 { return numbers[int64](rank*size+i, n) })
	in := joined(size, n, func(i, n int) []int64 { return numbers[int64](i*size+rank, n) })
	send, recv, left := make([]int64, n*size), make([]int64, n*size), out
	if inPlace {
		recv, left = send, in
	}
	k := exchange(c, "alltoall", inPlace, send, recv, out, left, in)
	k.wait = func() error { return collectives.AllToAll(c, send, recv) }
	k.start = func() runtime.Request { return collectives.IAllToAll(c, send, recv) }
	k.setUp = func() *runtime.Persistent { return collectives.AllToAllInit(c, send, recv) }
	return k
}

// allToAllVTrial returns the trial of an AllToAllV. If inPlace is true, sent and received blocks have
// the same place. So two ranks send each other the same number of elements, and there are no
// displacements.
func allToAllVTrial(c *runtime.Comm, n int, inPlace bool) trial {
	rank, size := c.Rank(), c.Size()
	toAll, toDispls, length := blocksOf(size, func(i int) int { return pairCount(rank, i, n) })
	fromAll, fromDispls, recvLength := blocksOf(size, func(i int) int { return pairCount(i, rank, n) })
	out := laid(toAll, toDispls, length, func(i, n int) []int64 { return numbers[int64](rank*size+i, n) })
	in := laid(fromAll, fromDispls, recvLength, func(i, n int) []int64 { return numbers[int64](i*size+rank, n) })
	send, recv, left := make([]int64, length), make([]int64, recvLength), out
	if inPlace {
		for i := range toAll {
			toAll[i] = raggedCount(rank+i, n)
		}
		out, in = nil, nil
		for i, m := range toAll {
			out = append(out, numbers[int64](rank*size+i, m)...)
			in = append(in, numbers[int64](i*size+rank, m)...)
		}
		fromAll, toDispls, fromDispls = toAll, nil, nil
		send, left = make([]int64, len(out)), in
		recv = send
	}
	k := exchange(c, "alltoallv", inPlace, send, recv, out, left, in)
	k.wait = func() error {
		return collectives.AllToAllV(c, send, toAll, toDispls, recv, fromAll, fromDispls)
	}
	k.start = func() runtime.Request {
		return collectives.IAllToAllV(c, send, toAll, toDispls, recv, fromAll, fromDispls)
	}
	k.setUp = func() *runtime.Persistent {
		return collectives.AllToAllVInit(c, send, toAll, toDispls, recv, fromAll, fromDispls)
	}
	return k
}
