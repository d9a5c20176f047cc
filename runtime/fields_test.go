package runtime_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/testbed/godoc"
	"github.com/gorun-hpc/gorun/runtime"
)

// go doc does not show the fields of types that are aliases of types elsewhere, so that the
// comments of the aliases must list them.
func TestCommentsShowTheFieldsOfErrors(t *testing.T) {
	godoc.Aliases(t, map[string]any{
		"PeerError": runtime.PeerError{}, "TruncatedError": runtime.TruncatedError{}, "TypeMismatchError": runtime.TypeMismatchError{},
		"CallError": runtime.CallError{}, "LabelError": runtime.LabelError{}, "MemoryError": runtime.MemoryError{},
	})
}
