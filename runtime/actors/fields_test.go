package actors_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/testbed/godoc"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestCommentShowsTheFieldsOfAnActor checks that the comment of Actor lists its fields. Go's
// documentation tools do not show the fields of a type that is defined in another package.
func TestCommentShowsTheFieldsOfAnActor(t *testing.T) {
	godoc.Aliases(t, map[string]any{"Actor": actors.Actor{}})
}
