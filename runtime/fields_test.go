package runtime_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/testbed/godoc"
	"github.com/gorun-hpc/gorun/runtime"
)

// If a type is an alias of a type of another package, go doc does not show its fields. Therefore the
// comment of the alias must list the fields.
func TestCommentsShowTheFieldsOfErrors(t *testing.T) {
	godoc.Aliases(t, map[string]any{
		"PeerError": runtime.PeerError{}, "TruncatedError": runtime.TruncatedError{}, "TypeMismatchError": runtime.TypeMismatchError{},
		"CallError": runtime.CallError{}, "LabelError": runtime.LabelError{}, "MemoryError": runtime.MemoryError{},
	})
}
