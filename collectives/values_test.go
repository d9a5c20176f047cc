package collectives_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// entry is a value that can be sent only through a codec.
type entry struct {
	Name string
	IDs  []int
	Of   map[string]int
}

// entryOf returns the entry of a rank, with at least n bytes.
func entryOf(rank, n int) entry {
	return entry{Name: strings.Repeat(string(rune('a'+rank)), n), IDs: []int{rank, n}, Of: map[string]int{"rank": rank}}
}

// valueLengths are lengths below and above the limit up to which the value travels in the first
// message.
var valueLengths = []int{0, 900, 1100, 70_000}

// valueWorlds runs fn with several numbers of ranks over each transport.
func valueWorlds(t *testing.T, fn func(c *runtime.Comm) error) {
	t.Helper()
	for _, transport := range transports {
		for _, size := range []int{1, 2, 3, 5, 8} {
			t.Run(fmt.Sprintf("%s of %d", transport, size), func(t *testing.T) {
				t.Setenv("GORUN_TRANSPORT", transport)
				world(t, size, fn)
			})
		}
	}
}

// BcastValue, GatherValues, ScatterValues and AllGatherValues give every rank the right values,
// with every root and with several lengths of the values.
func TestValuesOfCollectives(t *testing.T) {
	valueWorlds(t, func(c *runtime.Comm) error {
		for _, n := range valueLengths {
			for root := range c.Size() {
				mine := entryOf(c.Rank(), n*(1+c.Rank()%2))
				of := func(rank int) entry { return entryOf(rank, n*(1+rank%2)) }
				got, err := collectives.BcastValue(c, mine, root)
				if err != nil || !equalEntry(got, of(root)) {
					return fmt.Errorf("bcast of %d from %d: wrong, or %w", n, root, err)
				}
				all, err := collectives.GatherValues(c, mine, root)
				if err != nil || (c.Rank() == root) != (all != nil) || c.Rank() == root && !inOrder(all, c.Size(), of) {
					return fmt.Errorf("gather of %d at %d: wrong, or %w", n, root, err)
				}
				var parts []entry
				if c.Rank() == root {
					for rank := range c.Size() {
						parts = append(parts, of(rank))
					}
				}
				got, err = collectives.ScatterValues(c, parts, root)
				if err != nil || !equalEntry(got, mine) {
					return fmt.Errorf("scatter of %d from %d: wrong, or %w", n, root, err)
				}
			}
			all, err := collectives.AllGatherValues(c, entryOf(c.Rank(), n))
			if err != nil || !inOrder(all, c.Size(), func(rank int) entry { return entryOf(rank, n) }) {
				return fmt.Errorf("allgather of %d: wrong, or %w", n, err)
			}
		}
		return nil
	})
}

func equalEntry(a, b entry) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// inOrder reports whether all contains the entries of all ranks in rank order.
func inOrder(all []entry, size int, of func(rank int) entry) bool {
	for rank, e := range all {
		if !equalEntry(e, of(rank)) {
			return false
		}
	}
	return len(all) == size
}

// ReduceValue and AllReduceValue combine operands in the order of the ranks, with every root, and
// also with a function that adds maps.
func TestReducedValues(t *testing.T) {
	valueWorlds(t, func(c *runtime.Comm) error {
		want := ""
		for rank := range c.Size() {
			want += fmt.Sprintf("%d,", rank)
		}
		join := func(a, b string) string { return a + b }
		for root := range c.Size() {
			got, err := collectives.ReduceValue(c, fmt.Sprintf("%d,", c.Rank()), join, root)
			if err != nil || c.Rank() == root && got != want || c.Rank() != root && got != "" {
				return fmt.Errorf("reduce at %d: %q, %w", root, got, err)
			}
		}
		got, err := collectives.AllReduceValue(c, fmt.Sprintf("%d,", c.Rank()), join)
		if err != nil || got != want {
			return fmt.Errorf("allreduce: %q, %w", got, err)
		}
		sums, err := collectives.AllReduceValue(c, map[int]int{c.Rank(): 1, -1: c.Rank()}, func(a, b map[int]int) map[int]int {
			for k, n := range b {
				a[k] += n
			}
			return a
		})
		if err != nil || len(sums) != c.Size()+1 || sums[-1] != c.Size()*(c.Size()-1)/2 {
			return fmt.Errorf("sums: %v, %w", sums, err)
		}
		return nil
	})
}

// A value that cannot be encoded is an error at all members that wait for it, and the communicator
// can still be used.
func TestValuesThatCannotBeEncoded(t *testing.T) {
	valueWorlds(t, func(c *runtime.Comm) error {
		const bad = 1
		if c.Size() <= bad {
			return nil
		}
		// The type any allows one rank alone to pass a value whose type cannot be sent.
		v := any(c.Rank())
		if c.Rank() == bad {
			v = unregistered{}
		}
		failed := func(op string, err error) error {
			if v, ok := errors.AsType[*runtime.ValueError](err); !ok || !strings.Contains(err.Error(), "unregistered") || v.Type == "" {
				return fmt.Errorf("%s at %d: %w", op, c.Rank(), errors.Join(err, errors.New("no error of a value")))
			}
			return nil
		}
		_, err := collectives.BcastValue(c, v, bad)
		if err := failed("bcast", err); err != nil {
			return err
		}
		all, err := collectives.AllGatherValues(c, v)
		if err := failed("allgather", err); err != nil {
			return err
		}
		if all[0] != any(0) || all[bad] != nil {
			return fmt.Errorf("allgather: %v", all)
		}
		_, err = collectives.GatherValues(c, v, 0)
		if c.Rank() > bad && err != nil {
			return err
		}
		if c.Rank() <= bad && failed("gather", err) != nil {
			return failed("gather", err)
		}
		values := make([]any, c.Size())
		values[0] = unregistered{}
		_, err = collectives.ScatterValues(c, values, bad)
		if c.Rank() > bad && err != nil {
			return err
		}
		if c.Rank() <= bad && failed("scatter", err) != nil {
			return failed("scatter", err)
		}
		last := c.Size() - 1
		_, err = collectives.ReduceValue(c, v, func(a, _ any) any { return a }, last)
		if c.Rank() == last && failed("reduce", err) != nil {
			return failed("reduce", err)
		}
		_, err = collectives.AllReduceValue(c, v, func(a, _ any) any { return a })
		if err := failed("allreduce", err); err != nil {
			return err
		}
		return collectives.Barrier(c)
	})
}

type unregistered struct{ X int }

// unlucky is a type whose codec panics at a negative X.
type unlucky struct{ X int }

type unluckyCodec struct{ runtime.JSON[unlucky] }

func (u unluckyCodec) Append(b []byte, v *unlucky) ([]byte, error) {
	if v.X < 0 {
		panic("negative")
	}
	return u.JSON.Append(b, v)
}

func init() { runtime.RegisterCodec[unlucky](unluckyCodec{}) }

// If the codec of the program panics at root, every member gets an error, and the communicator can still be used.
func TestCodecThatPanics(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		if _, err := collectives.BcastValue(c, unlucky{-1}, 1); err == nil || !strings.Contains(err.Error(), "panic: negative") {
			return fmt.Errorf("no error of the codec: %w", err)
		}
		v, err := collectives.BcastValue(c, unlucky{c.Rank()}, 1)
		if err == nil && v.X != 1 {
			err = errors.New("wrong value")
		}
		return err
	})
}

// Wrong roots, a nil communicator and a wrong number of values are refused before anything is sent.
func TestValueArgumentsOfCollectives(t *testing.T) {
	world(t, 2, func(c *runtime.Comm) error {
		var errs []error
		refused := func(err, want error) {
			if !errors.Is(err, want) {
				errs = append(errs, fmt.Errorf("%w, not %w", err, want))
			}
		}
		for _, root := range []int{-1, 2} {
			_, err := collectives.BcastValue(c, 1, root)
			refused(err, runtime.ErrRank)
			_, err = collectives.GatherValues(c, 1, root)
			refused(err, runtime.ErrRank)
			_, err = collectives.ScatterValues(c, []int{1, 2}, root)
			refused(err, runtime.ErrRank)
			_, err = collectives.ReduceValue(c, 1, func(a, _ int) int { return a }, root)
			refused(err, runtime.ErrRank)
		}
		_, err := collectives.AllGatherValues[int](nil, 1)
		refused(err, runtime.ErrComm)
		_, err = collectives.AllReduceValue(nil, 1, func(a, _ int) int { return a })
		refused(err, runtime.ErrComm)
		if c.Rank() == 0 {
			_, err = collectives.ScatterValues(c, []int{1}, 0)
			refused(err, collectives.ErrLength)
		}
		return errors.Join(append(errs, collectives.Barrier(c))...)
	})
}

// If members pass values of different types, the receiver gets a TypeMismatchError that names both
// types.
func TestValuesOfDifferentTypes(t *testing.T) {
	world(t, 2, func(c *runtime.Comm) error {
		var err error
		if c.Rank() == 0 {
			_, err = collectives.BcastValue(c, "text", 0)
			return err
		}
		_, err = collectives.BcastValue(c, []string(nil), 0)
		m, ok := errors.AsType[*runtime.TypeMismatchError](err)
		if !ok || m.Sent != "string (text)" || m.Want != "[]string (gob)" || m.Source != 0 || !strings.Contains(err.Error(), "BcastValue") {
			return fmt.Errorf("not the error of two types: %w", err)
		}
		return nil
	})
}

// If one member abandons an operation because its context has ended, the operation ends with
// ErrCommBroken at all others.
func TestAbandonedReduceValue(t *testing.T) {
	ended := errors.New("ended by the test")
	var broken atomic.Int32
	err := runtime.Local(3, func(w *runtime.World) error {
		c, err := w.Comm().Dup()
		if err != nil {
			return err
		}
		// The first operation makes the group (the state of the collectives) at all members.
		if _, err := collectives.AllReduceValue(c, 1, func(a, b int) int { return a + b }); err != nil {
			return err
		}
		if c.Rank() == 1 {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(ended)
			_, err = collectives.AllReduceValue(c.WithContext(ctx), 1, func(a, b int) int { return a + b })
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("no end by the context: %w", err)
			}
			broken.Add(1)
			return nil
		}
		for err == nil {
			_, err = collectives.AllReduceValue(c, 1, func(a, b int) int { return a + b })
		}
		if !errors.Is(err, runtime.ErrCommBroken) {
			return err
		}
		broken.Add(1)
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 3, broken.Load())
}
