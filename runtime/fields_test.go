package runtime_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/testbed/godoc"
	"github.com/gorun-hpc/gorun/runtime"
)

// godoc shows no fields of types that are defined elsewhere: comments do.
func TestCommentsShowTheFieldsOfErrors(t *testing.T) {
	godoc.Aliases(t, map[string]any{
		"PeerError": runtime.PeerError{}, "TruncatedError": runtime.TruncatedError{}, "TypeMismatchError": runtime.TypeMismatchError{},
		"CallError": runtime.CallError{}, "LabelError": runtime.LabelError{}, "MemoryError": runtime.MemoryError{},
	})
}
