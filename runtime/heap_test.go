package runtime_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/mapping"
	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["pages"] = func() { runtime.Main(tellPages) }
}

// firstSlice keeps the slice of tellPages in the heap.
var firstSlice []byte

// tellPages prints whether the kernel was asked for huge pages for the first slice of the program.
func tellPages(w *runtime.World) error {
	firstSlice = make([]byte, 64<<10)
	p, err := mapping.Of(reflect.ValueOf(firstSlice).Pointer())
	fmt.Printf("rank %d: %v, %v\n", w.Rank(), p.Advised, err)
	return nil
}

// Ranks that may read each other's slices have them in huge pages from the beginning. A single rank asks for no
// huge pages.
func TestFirstSlicesAreInHugePages(t *testing.T) {
	if _, err := mapping.Of(0); errors.Is(err, mapping.ErrNoHugePages) {
		t.Skip(err)
	}
	alone := launch(t, 1, "pages")
	require.Zero(t, alone.code, alone.errors)
	require.Equal(t, "rank 0: false, <nil>\n", alone.out)
	var pair result
	for range 3 { // if a chunk of the heap is full, the first slice of a rank is in a new chunk
		pair = launch(t, 2, "pages")
		require.Zero(t, pair.code, pair.errors)
		if strings.Count(pair.out, ": true, <nil>\n") == 2 {
			return
		}
	}
	require.Fail(t, "no huge pages", pair.out)
}
