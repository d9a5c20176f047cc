package collectives_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// side is the Intercomm of one rank in a test, with the sizes of both groups.
type side struct {
	*runtime.Intercomm
	group    int // 0 or 1
	our, his int // the sizes of this rank's group and of the other group
	t        *testing.T
}

// newSide connects the first sizes[0] ranks of a World with the others.
func newSide(t *testing.T, w *runtime.World, sizes [2]int) (*side, error) {
	t.Helper()
	group, remote := 0, sizes[0]
	if w.Rank() >= sizes[0] {
		group, remote = 1, 0
	}
	c, err := w.Comm().Split(group, 0)
	if err != nil {
		return nil, err
	}
	inter, err := c.CreateIntercomm(0, w.Comm(), remote, 0)
	return &side{inter, group, sizes[group], sizes[1-group], t}, errors.Join(err, c.Close())
}

// eachInter runs a test with two groups of several sizes over shm, and with groups of 3 and 2 ranks over rdma.
func eachInter(t *testing.T, test func(s *side)) {
	t.Helper()
	for _, sizes := range [][2]int{{1, 1}, {1, 3}, {3, 2}, {2, 4}} {
		for _, transport := range transports {
			if transport == "rdma" && sizes[0] != 3 {
				continue
			}
			t.Setenv("GORUN_TRANSPORT", transport)
			require.NoError(t, runtime.Local(sizes[0]+sizes[1], func(w *runtime.World) error {
				s, err := newSide(t, w, sizes)
				require.NoError(t, err)
				test(s)
				return s.Close()
			}))
		}
	}
}

// value returns element i of the contribution of a rank of a group.
func value(group, rank, i int) int { return 1000*group + 100*(rank+1) + i }

// values returns n elements of the contribution of a rank. The argument from is the index of the
// first of them.
func values(group, rank, from, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = value(group, rank, from+i)
	}
	return list
}

// mine returns n elements of this rank's contribution. theirs returns n elements of the
// contribution of every rank of the other group. The first of these elements has the index from.
func (s *side) mine(n int) []int { return values(s.group, s.Rank(), 0, n) }

func (s *side) theirs(from, n int) []int {
	all := []int{}
	for rank := range s.his {
		all = append(all, values(1-s.group, rank, from, n)...)
	}
	return all
}

// eachRoot runs a test with every rank of both groups as the root. The test gets four arguments. root
// is the argument root that this rank must pass. The argument at is true if this rank is the root. The
// argument other is true if this rank is in the group without the root. The argument of is the rank of
// the root in the root's group.
func (s *side) eachRoot(test func(root int, at, other bool, of int)) {
	for of := range 2 {
		size := s.our
		if of != s.group {
			size = s.his
		}
		for rank := range size {
			switch {
			case of != s.group:
				test(rank, false, true, rank)
			case rank == s.Rank():
				test(collectives.Root, true, false, rank)
			default:
				test(runtime.ProcNull, false, false, rank)
			}
		}
	}
}

// interForms are the operations on an Intercomm in one of their three forms.
type interForms struct {
	barrier         func(t *runtime.Intercomm) error
	bcast           func(t *runtime.Intercomm, buf []int, root int) error
	reduce          func(t *runtime.Intercomm, send, recv []int, op collectives.Op, root int) error
	allReduce       func(t *runtime.Intercomm, send, recv []int, op collectives.Op) error
	gather, scatter func(t *runtime.Intercomm, send, recv []int, root int) error
	allGather       func(t *runtime.Intercomm, send, recv []int) error
	allToAll        func(t *runtime.Intercomm, send, recv []int) error
}

// started starts a persistent operation twice, because the second start must work like the first. It
// waits for the operation after each start.
func started(p *runtime.Persistent) error {
	defer p.Close()
	for range 2 {
		if err := p.Start(); err != nil {
			return err
		}
		if _, err := p.Wait(); err != nil {
			return err
		}
	}
	return nil
}

var interFormsOf = map[string]interForms{
	"blocking": {
		collectives.InterBarrier, collectives.InterBcast[int], collectives.InterReduce[int], collectives.InterAllReduce[int],
		collectives.InterGather[int], collectives.InterScatter[int], collectives.InterAllGather[int], collectives.InterAllToAll[int],
	},
	"nonblocking": {
		func(t *runtime.Intercomm) error { return waited(collectives.InterIBarrier(t)) },
		func(t *runtime.Intercomm, buf []int, root int) error {
			return waited(collectives.InterIBcast(t, buf, root))
		},
		func(t *runtime.Intercomm, send, recv []int, op collectives.Op, root int) error {
			return waited(collectives.InterIReduce(t, send, recv, op, root))
		},
		func(t *runtime.Intercomm, send, recv []int, op collectives.Op) error {
			return waited(collectives.InterIAllReduce(t, send, recv, op))
		},
		func(t *runtime.Intercomm, send, recv []int, root int) error {
			return waited(collectives.InterIGather(t, send, recv, root))
		},
		func(t *runtime.Intercomm, send, recv []int, root int) error {
			return waited(collectives.InterIScatter(t, send, recv, root))
		},
		func(t *runtime.Intercomm, send, recv []int) error {
			return waited(collectives.InterIAllGather(t, send, recv))
		},
		func(t *runtime.Intercomm, send, recv []int) error {
			return waited(collectives.InterIAllToAll(t, send, recv))
		},
	},
	"persistent": {
		func(t *runtime.Intercomm) error { return started(collectives.InterBarrierInit(t)) },
		func(t *runtime.Intercomm, buf []int, root int) error {
			return started(collectives.InterBcastInit(t, buf, root))
		},
		func(t *runtime.Intercomm, send, recv []int, op collectives.Op, root int) error {
			return started(collectives.InterReduceInit(t, send, recv, op, root))
		},
		func(t *runtime.Intercomm, send, recv []int, op collectives.Op) error {
			return started(collectives.InterAllReduceInit(t, send, recv, op))
		},
		func(t *runtime.Intercomm, send, recv []int, root int) error {
			return started(collectives.InterGatherInit(t, send, recv, root))
		},
		func(t *runtime.Intercomm, send, recv []int, root int) error {
			return started(collectives.InterScatterInit(t, send, recv, root))
		},
		func(t *runtime.Intercomm, send, recv []int) error {
			return started(collectives.InterAllGatherInit(t, send, recv))
		},
		func(t *runtime.Intercomm, send, recv []int) error {
			return started(collectives.InterAllToAllInit(t, send, recv))
		},
	},
}

// eachInterForm runs eachInter's test with each form of the operations.
func eachInterForm(t *testing.T, test func(s *side, f interForms)) {
	t.Helper()
	eachInter(t, func(s *side) {
		for _, name := range []string{"blocking", "nonblocking", "persistent"} {
			test(s, interFormsOf[name])
		}
	})
}

// A barrier completes, and then a broadcast from every root of either group reaches every rank of the
// other group (MPICH's coll/icbcast.c, coll/icbarrier.c, coll/nbicbcast.c and
// coll/nbicbarrier.c).
func TestInterBcast(t *testing.T) {
	eachInterForm(t, func(s *side, f interForms) {
		s.eachRoot(func(root int, at, other bool, of int) {
			for _, n := range []int{0, 1, 5000} {
				buf := make([]int, n)
				if at {
					copy(buf, s.mine(n))
				}
				require.NoError(s.t, f.barrier(s.Intercomm))
				require.NoError(s.t, f.bcast(s.Intercomm, buf, root))
				if other {
					require.Equal(s.t, values(1-s.group, of, 0, n), buf)
				}
			}
		})
	})
}

// Each group gets the reduction of the other group's contributions, combined in the order of the
// ranks (MPICH's coll/icreduce.c, coll/icallreduce.c, coll/nbicreduce.c and coll/nbicallreduce.c).
func TestInterReductions(t *testing.T) {
	last := collectives.Func(func(_, b int) int { return b }, false)
	eachInterForm(t, func(s *side, f interForms) {
		for _, n := range []int{0, 1, 700} {
			for _, op := range []collectives.Op{collectives.Sum, last} {
				want := values(1-s.group, s.his-1, 0, n)
				if op == collectives.Sum {
					for i := range want {
						want[i] = 0
						for rank := range s.his {
							want[i] += value(1-s.group, rank, i)
						}
					}
				}
				got := make([]int, n)
				require.NoError(s.t, f.allReduce(s.Intercomm, s.mine(n), got, op))
				require.Equal(s.t, want, got)
				s.eachRoot(func(root int, at, other bool, _ int) {
					got, send := make([]int, n), s.mine(n)
					if !other {
						send = nil
					}
					require.NoError(s.t, f.reduce(s.Intercomm, send, got, op, root))
					if at {
						require.Equal(s.t, want, got)
					}
				})
			}
		}
	})
}

// Gather, Scatter and AllGather on an Intercomm move the blocks of one group to the other group
// (MPICH's coll/icgather.c, coll/icscatter.c, coll/icallgather.c, coll/nbicgather.c,
// coll/nbicscatter.c and coll/nbicallgather.c).
func TestInterBlocks(t *testing.T) {
	eachInterForm(t, func(s *side, f interForms) {
		for _, n := range []int{0, 1, 900} {
			got := make([]int, (n+2-s.group)*s.his) // the groups send blocks of different lengths
			require.NoError(s.t, f.allGather(s.Intercomm, s.mine(n+1+s.group), got))
			require.Equal(s.t, s.theirs(0, n+2-s.group), got)
			s.eachRoot(func(root int, at, other bool, of int) {
				got := make([]int, n*s.his)
				require.NoError(s.t, f.gather(s.Intercomm, s.mine(n), got, root))
				if at {
					require.Equal(s.t, s.theirs(0, n), got)
				}
				block := make([]int, n)
				require.NoError(s.t, f.scatter(s.Intercomm, s.mine(n*s.his), block, root))
				if other {
					require.Equal(s.t, values(1-s.group, of, n*s.Rank(), n), block)
				}
			})
		}
	})
}

// AllToAll on an Intercomm moves a block from every rank to every rank of the other group (MPICH's
// coll/icalltoall.c and coll/nbicalltoall.c).
func TestInterAllToAll(t *testing.T) {
	eachInterForm(t, func(s *side, f interForms) {
		for _, n := range []int{0, 1, 900} {
			got := make([]int, n*s.his)
			require.NoError(s.t, f.allToAll(s.Intercomm, s.mine(n*s.his), got))
			require.Equal(s.t, s.theirs(n*s.Rank(), n), got)
		}
	})
}

// Wrong arguments are refused and leave the Intercomm usable. A broadcast whose length differs between
// the groups breaks the Intercomm.
func TestInterArguments(t *testing.T) {
	eachInter(t, func(s *side) {
		var none *runtime.Intercomm
		two := make([]int, 2)
		for name, check := range map[string]struct{ err, want error }{
			"no Intercomm":             {collectives.InterBarrier(none), runtime.ErrComm},
			"no Intercomm, a bcast":    {collectives.InterBcast(none, two, 0), runtime.ErrComm},
			"no Intercomm, alltoall":   {collectives.InterAllToAll(none, two, two), runtime.ErrComm},
			"a root too high":          {collectives.InterBcast(s.Intercomm, two, s.his), runtime.ErrRank},
			"AnySource":                {collectives.InterGather(s.Intercomm, two, two, runtime.AnySource), runtime.ErrRank},
			"lengths that differ":      {collectives.InterAllReduce(s.Intercomm, two, two[:1], collectives.Sum), collectives.ErrLength},
			"an operation on its Comm": {collectives.Barrier(s.Comm), runtime.ErrComm},
		} {
			if check.want != nil {
				require.ErrorIs(s.t, check.err, check.want, name)
			}
		}
		if s.his == 1 || s.our == 1 {
			return
		}
		require.ErrorIs(s.t, collectives.InterAllToAll(s.Intercomm, make([]int, s.his+1), make([]int, s.his)), collectives.ErrLength)
		require.NoError(s.t, s.Err())
		require.NoError(s.t, collectives.InterBarrier(s.Intercomm), "all have come so far")
		buf := make([]int, 3+s.group)
		root := runtime.ProcNull
		switch {
		case s.group == 1:
			root = 0
		case s.Rank() == 0:
			root = collectives.Root
		}
		err := collectives.InterBcast(s.Intercomm, buf, root)
		if s.group == 1 {
			require.Error(s.t, err)
		}
		if s.group == 1 && s.Rank() == 0 {
			require.ErrorIs(s.t, err, collectives.ErrMismatch)
		}
		require.ErrorIs(s.t, collectives.InterBarrier(s.Intercomm), runtime.ErrCommBroken)
	})
}
