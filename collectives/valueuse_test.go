package collectives_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// busy is a value. Its codec calls the function in the field while during the encoding of the value.
type busy struct {
	number uint64
	while  func()
}

type busyCodec struct{}

func (busyCodec) Append(b []byte, v *busy) ([]byte, error) {
	if v.while != nil {
		v.while()
	}
	return binary.LittleEndian.AppendUint64(b, v.number), nil
}

func (busyCodec) Decode(b []byte, v *busy) error {
	v.number = binary.LittleEndian.Uint64(b)
	return nil
}

func init() { runtime.RegisterCodec[busy](busyCodec{}) }

// valueOperation is an operation with values, called with v at each of two ranks. The argument root is the root of
// BcastValue and ScatterValues, whose root does not wait for the other rank.
type valueOperation func(c *runtime.Comm, v busy, root int) error

var valueOperations = map[string]valueOperation{
	"BcastValue": func(c *runtime.Comm, v busy, root int) error {
		_, err := collectives.BcastValue(c, v, root)
		return err
	},
	"GatherValues":    func(c *runtime.Comm, v busy, _ int) error { _, err := collectives.GatherValues(c, v, 0); return err },
	"AllGatherValues": func(c *runtime.Comm, v busy, _ int) error { _, err := collectives.AllGatherValues(c, v); return err },
	"ScatterValues": func(c *runtime.Comm, v busy, root int) error {
		_, err := collectives.ScatterValues(c, []busy{v, v}, root)
		return err
	},
	"ReduceValue": func(c *runtime.Comm, v busy, _ int) error {
		_, err := collectives.ReduceValue(c, v, lower, 1)
		return err
	},
	"AllReduceValue": func(c *runtime.Comm, v busy, _ int) error {
		_, err := collectives.AllReduceValue(c, v, lower)
		return err
	},
}

func lower(a, _ busy) busy { return a }

// eachValueOperation runs a test with each operation with values. The test runs at rank 0 of two, and breaks c. At
// rank 1 the operation must return ErrCommBroken. If late is true, rank 1 calls it after the test has returned.
func eachValueOperation(t *testing.T, late bool, test func(c *runtime.Comm, name string, operation valueOperation) error) {
	t.Helper()
	for name, operation := range valueOperations {
		t.Run(name, func(t *testing.T) {
			world(t, 2, func(w *runtime.Comm) error {
				c, err := w.Dup()
				if err != nil {
					return err
				}
				if c.Rank() == 0 {
					if err := test(c, name, operation); err != nil || !late {
						return err
					}
					return runtime.Send(w, []byte(nil), 1, 1)
				}
				if late {
					if _, err := runtime.Recv(w, []byte(nil), 0, 1); err != nil {
						return err
					}
				}
				if err := operation(c, busy{}, 1); !errors.Is(err, runtime.ErrCommBroken) {
					return fmt.Errorf("the errors of the other rank's goroutines are not known: %w", err)
				}
				return nil
			})
		})
	}
}

// inUse returns nil if each of errs is ErrInUse and has the name of the operation with values and two source lines of
// this file.
func inUse(name string, errs ...error) error {
	for _, err := range errs {
		if !errors.Is(err, runtime.ErrInUse) || !strings.Contains(err.Error(), name) || strings.Count(err.Error(), "valueuse_test.go:") < 2 {
			return fmt.Errorf("not that it is in use: %w", err)
		}
	}
	return nil
}

// An operation with values is in progress from its beginning to its end, also between two of its steps. If a goroutine
// begins a blocking operation in this time, both operations get ErrInUse with both source lines.
func TestABlockingOperationBetweenTheStepsOfValues(t *testing.T) {
	eachValueOperation(t, false, func(c *runtime.Comm, name string, operation valueOperation) error {
		var doing string
		var inside error
		outside := operation(c, busy{while: func() {
			if inside == nil {
				doing, inside = collectives.Doing(c), collectives.Barrier(c)
			}
		}}, 0)
		if !strings.HasPrefix(doing, name+", at valueuse_test.go:") {
			return fmt.Errorf("doing %q", doing)
		}
		return inUse(name, inside, outside)
	})
}

// If a goroutine is in a blocking operation while another one begins an operation with values, both get ErrInUse with
// both source lines.
func TestValuesBesideABlockingOperation(t *testing.T) {
	eachValueOperation(t, true, func(c *runtime.Comm, name string, operation valueOperation) error {
		barrier := make(chan error, 1)
		go func() { barrier <- collectives.Barrier(c) }() // waits for rank 1
		for collectives.Doing(c) == "" {
			goruntime.Gosched()
		}
		return inUse(name, operation(c, busy{}, 1), <-barrier)
	})
}

// If two goroutines of a rank call operations with values on one communicator, both get ErrInUse with both source lines.
func TestTwoGoroutinesWithValues(t *testing.T) {
	eachValueOperation(t, true, func(c *runtime.Comm, name string, operation valueOperation) error {
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- operation(c, busy{}, 1) }() // one of the two waits for rank 1
		}
		return inUse(name, <-ended, <-ended)
	})
}
