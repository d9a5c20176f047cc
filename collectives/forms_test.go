package collectives_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// trial is one operation of one rank in its three forms (blocking, nonblocking and persistent),
// with its own buffers.
type trial struct {
	name  string
	wait  func() error
	start func() runtime.Request
	setUp func() *runtime.Persistent
	// fill writes the input of the operation, and check compares the buffers with the expected
	// result.
	fill  func()
	check func() error
}

// then composes affine maps; it is an operator that does not commute.
var then = collectives.Func(compose, false)

// trials returns a trial of every operation except those between neighbors, with blocks of up to n elements. For each
// operation that can be in place, it also returns a trial in place.
func trials(c *runtime.Comm, n, root int) []trial {
	var all []trial
	all = append(all, barrierTrial(c), bcastTrial(c, n, root))
	for _, inPlace := range []bool{false, true} {
		all = append(all, reduceTrial(c, n, root, inPlace), allReduceTrial(c, n, inPlace), scanTrial(c, n, inPlace), exScanTrial(c, n, inPlace),
			reduceScatterTrial(c, n, inPlace), reduceScatterBlockTrial(c, n, inPlace),
			gatherTrial(c, n, root, inPlace), gatherVTrial(c, n, root, inPlace), scatterTrial(c, n, root, inPlace), scatterVTrial(c, n, root, inPlace),
			allGatherTrial(c, n, inPlace), allGatherVTrial(c, n, inPlace), allToAllTrial(c, n, inPlace), allToAllVTrial(c, n, inPlace))
	}
	return all
}

// named adds the form and the name of the trial to an error.
func (k *trial) named(form string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", form, k.name, err)
}

// blocking runs the trials one after the other in their blocking form.
func blocking(all []trial) error {
	for _, k := range all {
		k.fill()
		if err := errors.Join(k.wait(), k.check()); err != nil {
			return k.named("blocking", err)
		}
	}
	return nil
}

// nonblocking starts all trials and an exchange of point-to-point messages, and waits for all
// requests. If the argument any is true, it waits with WaitAny in the order of completion,
// otherwise with one WaitAll.
func nonblocking(c *runtime.Comm, all []trial, any bool) error {
	next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	got := make([]int, 1)
	requests := []runtime.Request{runtime.Irecv(c, got, before, 77)}
	for i, k := range all {
		k.fill()
		requests = append(requests, k.start())
		if i == len(all)/2 {
			requests = append(requests, runtime.Isend(c, []int{c.Rank()}, next, 77))
		}
	}
	if any {
		for range requests {
			if _, _, err := runtime.WaitAny(requests); err != nil {
				return err
			}
		}
	} else if err := runtime.WaitAll(requests); err != nil {
		return err
	}
	err := equal(c, "message beside collectives", got, []int{before})
	for _, k := range all {
		err = errors.Join(err, k.named("nonblocking", k.check()))
	}
	return err
}

// persistent sets up all trials and an exchange of messages as persistent operations, and starts
// them together twice.
func persistent(c *runtime.Comm, all []trial) error {
	next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	got := make([]int, 1)
	operations := []*runtime.Persistent{runtime.RecvInit(c, got, before, 78), runtime.SendInit(c, []int{c.Rank()}, next, 78)}
	for _, k := range all {
		operations = append(operations, k.setUp())
	}
	for range 2 {
		got[0] = -1
		for _, k := range all {
			k.fill()
		}
		if err := runtime.StartAll(operations); err != nil {
			return err
		}
		for i := len(operations) - 1; i >= 0; i-- {
			if _, err := operations[i].Wait(); err != nil {
				return err
			}
		}
		err := equal(c, "message beside collectives", got, []int{before})
		for _, k := range all {
			err = errors.Join(err, k.named("persistent", k.check()))
		}
		if err != nil {
			return err
		}
	}
	for _, p := range operations {
		p.Close()
	}
	return nil
}

// forms runs every operation in every form.
func forms(c *runtime.Comm, n, root int) error {
	for _, run := range []func(all []trial) error{
		blocking,
		func(all []trial) error { return nonblocking(c, all, root%2 == 0) },
		func(all []trial) error { return persistent(c, all) },
	} {
		if err := run(trials(c, n, root)); err != nil {
			return fmt.Errorf("%d ranks, %d elements, root %d: %w", c.Size(), n, root, err)
		}
	}
	return collectives.Barrier(c)
}

// Every operation, in its three forms and in place, gives the same result as a serial loop. The
// test uses every root (in the blocking form), buffers of 0 elements, buffers with fewer and with more elements than
// ranks, shared memory, and messages. It checks what MPICH's tests coll/redscat.c, coll/red_scat_block2.c,
// coll/scantst.c, coll/exscan.c, coll/gatherv.c, coll/scatterv.c, coll/allgatherv2.c, coll/alltoallv.c and
// coll/nonblocking2.c check.
func TestForms(t *testing.T) {
	sizes, lengths := []int{1, 2, 3, 4, 5, 8, 9}, []int{0, 1, 7, 300}
	if testing.Short() {
		sizes, lengths = []int{1, 2, 3, 5}, []int{0, 3}
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			world(t, size, func(w *runtime.Comm) error {
				for _, distant := range []bool{false, true} {
					c, err := dup(w, distant)
					if err != nil {
						return err
					}
					for i, n := range lengths {
						if err := forms(c, n, i%size); err != nil {
							return err
						}
					}
					for root := range size {
						if err := blocking(trials(c, 5, root)); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
	}
}

// Every operation in its three forms gives right results if every rank is a node of its own.
func TestFormsBetweenNodes(t *testing.T) {
	t.Setenv("GORUN_TRANSPORT", transports[len(transports)-1])
	sizes := []int{2, 5}
	if os.Getenv("GORUN_SOAK") == "1" {
		sizes = []int{1, 2, 3, 4, 5, 8, 9}
	}
	for _, size := range sizes {
		world(t, size, func(c *runtime.Comm) error {
			for i, n := range []int{0, 3, 3000} {
				if err := forms(c, n, i%size); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
