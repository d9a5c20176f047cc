//go:build linux && !portable

package collectives_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// If a member announces a length that cannot be allocated, the operation of the receiver fails, the
// communicator is broken, and the process continues.
func TestValuesWithoutMemory(t *testing.T) {
	const length = 1 << 45
	none := func(rank, of int) []uint64 { // the message with which rank announces its lengths
		words := make([]uint64, of)
		words[rank] = length
		return words
	}
	for name, c := range map[string]struct{ announce, take func(c *runtime.Comm) error }{
		"BcastValue": {
			func(c *runtime.Comm) error {
				first := make([]byte, 1024)
				binary.LittleEndian.PutUint64(first, length)
				return collectives.Bcast(c, first, 0)
			},
			func(c *runtime.Comm) error { return only(collectives.BcastValue(c, "", 0)) },
		},
		"GatherValues": {
			func(c *runtime.Comm) error { return collectives.AllGather(c, none(0, 1), make([]uint64, 2)) },
			func(c *runtime.Comm) error { return only(collectives.GatherValues(c, "", 1)) },
		},
		"AllGatherValues": {
			func(c *runtime.Comm) error { return collectives.AllGather(c, none(0, 1), make([]uint64, 2)) },
			func(c *runtime.Comm) error { return only(collectives.AllGatherValues(c, "")) },
		},
		"ScatterValues": {
			func(c *runtime.Comm) error { return collectives.Scatter(c, none(1, 2), make([]uint64, 1), 0) },
			func(c *runtime.Comm) error { return only(collectives.ScatterValues[string](c, nil, 0)) },
		},
	} {
		world(t, 2, func(w *runtime.Comm) error {
			d, err := w.Dup()
			if err != nil {
				return err
			}
			if w.Rank() == 0 {
				err = c.announce(d)
			} else if failed := c.take(d); failed == nil || !strings.Contains(failed.Error(), "no memory for values of") {
				err = fmt.Errorf("%s: %w", name, failed)
			}
			if err == nil && w.Rank() == 1 && !errors.Is(d.Err(), runtime.ErrCommBroken) {
				err = fmt.Errorf("%s: the others wait: %w", name, d.Err())
			}
			return errors.Join(err, collectives.Barrier(w))
		})
	}
}

// only returns the error of a function with two results.
func only[T any](_ T, err error) error { return err }
