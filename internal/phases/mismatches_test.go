package phases_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

// mismatch consists of two calls that do not match. Rank 0 makes the call in the field odd, and the other
// ranks make the call in the field rest. Each call has about n elements.
type mismatch struct {
	name      string
	odd, rest func(c *runtime.Comm, b buffers) error
	says      [2]string // parts of the error, one for each call
}

// buffers holds the buffers of a call. They are longer than the call needs.
type buffers struct {
	n          int
	send, recv []int64
}

func (b buffers) reduce(c *runtime.Comm, n int, op collectives.Op) error {
	return collectives.AllReduce(c, b.send[:n], b.recv[:n], op)
}

func (b buffers) bcast(c *runtime.Comm, n, root int) error {
	if c.Rank() == root {
		return collectives.Bcast(c, b.send[:n], root)
	}
	return collectives.Bcast(c, b.recv[:n], root)
}

var mismatches = []mismatch{
	{
		"operations", func(c *runtime.Comm, b buffers) error { return b.reduce(c, b.n, collectives.Sum) },
		func(c *runtime.Comm, b buffers) error { return collectives.AllGather(c, b.send[:b.n], b.recv[:3*b.n]) },
		[2]string{"allreduce", "allgather"},
	},
	{
		"lengths", func(c *runtime.Comm, b buffers) error { return b.reduce(c, b.n, collectives.Sum) },
		func(c *runtime.Comm, b buffers) error { return b.reduce(c, b.n+1, collectives.Sum) },
		[2]string{"allreduce of ", "allreduce of "},
	},
	{
		"lengths of a broadcast", func(c *runtime.Comm, b buffers) error { return b.bcast(c, b.n+1, 1) },
		func(c *runtime.Comm, b buffers) error { return b.bcast(c, b.n, 1) },
		[2]string{"bcast of ", "bcast of "},
	},
	{
		"roots", func(c *runtime.Comm, b buffers) error { return b.bcast(c, b.n, 2) },
		func(c *runtime.Comm, b buffers) error { return b.bcast(c, b.n, 1) },
		[2]string{"root 2", "root 1"},
	},
	{
		"operators", func(c *runtime.Comm, b buffers) error { return b.reduce(c, b.n, collectives.Max) },
		func(c *runtime.Comm, b buffers) error { return b.reduce(c, b.n, collectives.Sum) },
		[2]string{"with Max", "with Sum"},
	},
	{
		"types", func(c *runtime.Comm, b buffers) error { return collectives.Bcast(c, make([]float64, b.n), 1) },
		func(c *runtime.Comm, b buffers) error { return b.bcast(c, b.n, 1) },
		[2]string{"float64", "int64"},
	},
}

// untouched is the value in the receive buffers before the call. own is the value that every rank sends.
const untouched, own = -7, 1000

// lengths has the length of a message that shares a cache line with its announcement, and of a
// message in many parts.
var lengths = []int{1, 9000}

// mismatchName names the end of a program that has a mismatch in place of a deadlock.
func mismatchName(m mismatch, n int) string { return fmt.Sprintf("mismatch %d %s", n, m.name) }

// runMismatch makes the calls of the mismatch that the argument end names, and returns the error of this rank.
// If the call of another rank has overwritten memory of rank 0, the error says so.
func (r *rank) runMismatch(end string) error {
	for _, m := range mismatches {
		for _, n := range lengths {
			if mismatchName(m, n) != end {
				continue
			}
			b := buffers{n, make([]int64, 3*n+3), make([]int64, 3*n+3)}
			for i := range b.send {
				b.send[i], b.recv[i] = own, untouched
			}
			call := m.rest
			if r.Rank() == 0 {
				call = m.odd
			}
			err := call(r.Comm, b)
			for i := range b.recv {
				if r.Rank() == 0 && (b.send[i] != own || b.recv[i] != untouched && b.recv[i] != own) {
					return fmt.Errorf("element %d was overwritten with %d", i, b.recv[i])
				}
			}
			// A barrier follows, so that a rank notices the mismatch even if its call does not
			// wait for a root.
			for err == nil {
				err = collectives.Barrier(r.Comm)
			}
			return err
		}
	}
	return fmt.Errorf("no end %q", end)
}

// named requires that an error names both calls and both source lines, and that no memory of rank 0
// was overwritten.
func named(t *testing.T, m mismatch, text string) {
	t.Helper()
	require.Contains(t, text, "different collective operations")
	require.NotContains(t, text, "overwritten")
	require.Regexp(t, `rank \d: .*at mismatches_test\.go:\d+; rank \d: .*at mismatches_test\.go:\d+`, text)
	for _, part := range m.says {
		require.Contains(t, text, part)
	}
}

// onEveryKind runs all kinds of mismatch with flags. Without GORUN_SOAK=1 it uses one length for
// each kind.
func onEveryKind(t *testing.T, flags ...string) {
	t.Helper()
	var list []outcome
	var kinds []mismatch
	for i, m := range mismatches {
		for k, n := range lengths {
			if soak() || i%2 == k {
				list = append(list, outcome{seed: 0, flags: flags, end: mismatchName(m, n)})
				kinds = append(kinds, m)
			}
		}
	}
	runAll(t, list)
	for i, o := range list {
		require.Equal(t, 1, o.Code, o)
		named(t, kinds[i], o.Errors)
	}
}

// TestMismatchesOnANode and the two tests after it make calls that differ. The error must name both ranks and
// both source lines, and no memory of rank 0 may be overwritten. The ranks are on a node, on the network, and on
// several hosts.
func TestMismatchesOnANode(t *testing.T)      { onEveryKind(t, "-transport", "shm") }
func TestMismatchesOnTheNetwork(t *testing.T) { onEveryKind(t, "-transport", "rdma") }

func TestMismatchesOnHosts(t *testing.T) {
	c := nscluster.Start(t, 2)
	onEveryKind(t, "-host", "h0:2,h1:1", "-rsh", c.Rsh())
}

// TestMismatchesInOneProcess makes the same checks in one process.
func TestMismatchesInOneProcess(t *testing.T) {
	for _, m := range mismatches {
		for _, n := range lengths {
			t.Run(m.name+" "+strconv.Itoa(n), func(t *testing.T) {
				err := runtime.Local(ranks, func(w *runtime.World) error {
					return (&rank{Comm: w.Comm(), world: w}).runMismatch(mismatchName(m, n))
				})
				require.Error(t, err)
				var differ *collectives.MismatchError
				require.True(t, errors.As(err, &differ) || strings.Contains(err.Error(), "different collective operations"), err)
				named(t, m, err.Error())
			})
		}
	}
}
