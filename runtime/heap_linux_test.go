package runtime_test

import (
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

// Ranks that may read each other's slices have them in huge pages from the beginning. A single rank, and ranks that
// may not read or may not have huge pages, ask for none.
func TestFirstSlicesAreInHugePages(t *testing.T) {
	if err := mapping.HugePages(); err != nil {
		t.Skip(err)
	}
	for ranks, options := range map[int][]string{1: nil, 2: {"-x", "GORUN_CMA=0"}, 3: {"-x", "GODEBUG=disablethp=1"}} {
		none := launch(t, ranks, "pages", options...)
		require.Zero(t, none.code, none.errors)
		require.Equal(t, ranks, strings.Count(none.out, ": false, <nil>\n"), none.out)
	}
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
