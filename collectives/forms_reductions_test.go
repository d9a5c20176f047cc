package collectives_test

import (
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// barrierTrial and bcastTrial return trials (forms_test.go). They have no argument inPlace, because
// Barrier and Bcast do not have two buffers.
func barrierTrial(c *runtime.Comm) trial {
	return trial{
		name: "barrier", fill: func() {}, check: func() error { return nil },
		wait:  func() error { return collectives.Barrier(c) },
		start: func() runtime.Request { return collectives.IBarrier(c) },
		setUp: func() *runtime.Persistent { return collectives.BarrierInit(c) },
	}
}

func bcastTrial(c *runtime.Comm, n, root int) trial {
	buf := make([]int64, n)
	return trial{
		name: "bcast",
		fill: func() {
			clear(buf)
			if c.Rank() == root {
				copy(buf, numbers[int64](root, n))
			}
		},
		check: func() error { return equal(c, "bcast", buf, numbers[int64](root, n)) },
		wait:  func() error { return collectives.Bcast(c, buf, root) },
		start: func() runtime.Request { return collectives.IBcast(c, buf, root) },
		setUp: func() *runtime.Persistent { return collectives.BcastInit(c, buf, root) },
	}
}

// unset is the value of the elements of recv before a reduction.
var unset = affine{1, 2}

// reduction returns the trial of a reduction of send into recv. If inPlace is true, send and recv
// share memory. want is nil if the operation must leave recv unchanged.
func reduction(c *runtime.Comm, name string, inPlace bool, send, recv, want []affine) trial {
	if inPlace {
		name += " in place"
	}
	mine := affines(c.Rank(), len(send))
	shared := len(recv) > 0 && len(send) > 0 && &recv[0] == &send[0]
	return trial{
		name: name,
		fill: func() {
			for i := range recv {
				recv[i] = unset
			}
			copy(send, mine)
		},
		check: func() error {
			got := recv
			if want == nil {
				want = make([]affine, len(recv))
				for i := range want {
					want[i] = unset
				}
				if shared {
					want = mine
				}
			}
			if err := equal(c, name, got, want); err != nil || inPlace {
				return err
			}
			return equal(c, "send of "+name, send, mine)
		},
	}
}

func reduceTrial(c *runtime.Comm, n, root int, inPlace bool) trial {
	send := make([]affine, n)
	var recv, want []affine
	if c.Rank() == root {
		recv, want = make([]affine, n), fold(c.Size(), n, affines, compose)
		if inPlace {
			recv = send
		}
	}
	k := reduction(c, "reduce", inPlace, send, recv, want)
	k.wait = func() error { return collectives.Reduce(c, send, recv, then, root) }
	k.start = func() runtime.Request { return collectives.IReduce(c, send, recv, then, root) }
	k.setUp = func() *runtime.Persistent { return collectives.ReduceInit(c, send, recv, then, root) }
	return k
}

// places returns two slices of n elements, send and recv. If inPlace is true, both are the same
// slice.
func places(n int, inPlace bool) (send, recv []affine) {
	send, recv = make([]affine, n), make([]affine, n)
	if inPlace {
		recv = send
	}
	return send, recv
}

func allReduceTrial(c *runtime.Comm, n int, inPlace bool) trial {
	send, recv := places(n, inPlace)
	k := reduction(c, "allreduce", inPlace, send, recv, fold(c.Size(), n, affines, compose))
	k.wait = func() error { return collectives.AllReduce(c, send, recv, then) }
	k.start = func() runtime.Request { return collectives.IAllReduce(c, send, recv, then) }
	k.setUp = func() *runtime.Persistent { return collectives.AllReduceInit(c, send, recv, then) }
	return k
}

func scanTrial(c *runtime.Comm, n int, inPlace bool) trial {
	send, recv := places(n, inPlace)
	k := reduction(c, "scan", inPlace, send, recv, fold(c.Rank()+1, n, affines, compose))
	k.wait = func() error { return collectives.Scan(c, send, recv, then) }
	k.start = func() runtime.Request { return collectives.IScan(c, send, recv, then) }
	k.setUp = func() *runtime.Persistent { return collectives.ScanInit(c, send, recv, then) }
	return k
}

func exScanTrial(c *runtime.Comm, n int, inPlace bool) trial {
	send, recv := places(n, inPlace)
	var want []affine
	if c.Rank() > 0 {
		want = fold(c.Rank(), n, affines, compose)
	}
	k := reduction(c, "exscan", inPlace, send, recv, want)
	k.wait = func() error { return collectives.ExScan(c, send, recv, then) }
	k.start = func() runtime.Request { return collectives.IExScan(c, send, recv, then) }
	k.setUp = func() *runtime.Persistent { return collectives.ExScanInit(c, send, recv, then) }
	return k
}

// reduceScatterTrial uses Sum, so that the algorithms that need a commutative operator are tested,
// too.
func reduceScatterTrial(c *runtime.Comm, n int, inPlace bool) trial {
	counts, from, total := make([]int, c.Size()), 0, 0
	for i := range counts {
		counts[i] = raggedCount(i, n)
		if i < c.Rank() {
			from += counts[i]
		}
		total += counts[i]
	}
	own := counts[c.Rank()]
	send, recv := make([]float64, total), make([]float64, own)
	if inPlace {
		recv = send[from:][:own]
	}
	k := sums(c, "reducescatter", inPlace, send, recv, from)
	k.wait = func() error { return collectives.ReduceScatter(c, send, recv, counts, collectives.Sum) }
	k.start = func() runtime.Request { return collectives.IReduceScatter(c, send, recv, counts, collectives.Sum) }
	k.setUp = func() *runtime.Persistent {
		return collectives.ReduceScatterInit(c, send, recv, counts, collectives.Sum)
	}
	return k
}

// sums returns the trial of an operation that adds the slices send of all ranks. recv gets the
// elements of the sum that begin at index from.
func sums(c *runtime.Comm, name string, inPlace bool, send, recv []float64, from int) trial {
	if inPlace {
		name += " in place"
	}
	mine := numbers[float64](c.Rank(), len(send))
	left := append([]float64(nil), mine...)
	want := fold(c.Size(), len(send), numbers[float64], add)[from:][:len(recv)]
	if inPlace {
		copy(left[from:], want)
	}
	return trial{
		name: name,
		fill: func() { clear(recv); copy(send, mine) },
		check: func() error {
			if err := equal(c, name, recv, want); err != nil {
				return err
			}
			return equal(c, "send of "+name, send, left)
		},
	}
}

func reduceScatterBlockTrial(c *runtime.Comm, n int, inPlace bool) trial {
	from := c.Rank() * n
	if inPlace {
		send := make([]float64, n*c.Size())
		recv := send[from:][:n]
		k := sums(c, "reducescatterblock", inPlace, send, recv, from)
		k.wait = func() error { return collectives.ReduceScatterBlock(c, send, recv, collectives.Sum) }
		k.start = func() runtime.Request { return collectives.IReduceScatterBlock(c, send, recv, collectives.Sum) }
		k.setUp = func() *runtime.Persistent {
			return collectives.ReduceScatterBlockInit(c, send, recv, collectives.Sum)
		}
		return k
	}
	send, recv := make([]affine, n*c.Size()), make([]affine, n)
	k := reduction(c, "reducescatterblock", inPlace, send, recv, fold(c.Size(), n*c.Size(), affines, compose)[from:][:n])
	k.wait = func() error { return collectives.ReduceScatterBlock(c, send, recv, then) }
	k.start = func() runtime.Request { return collectives.IReduceScatterBlock(c, send, recv, then) }
	k.setUp = func() *runtime.Persistent { return collectives.ReduceScatterBlockInit(c, send, recv, then) }
	return k
}
