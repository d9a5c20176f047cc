package actors_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/testbed/godoc"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// godoc shows no fields of a type that is defined elsewhere: its comment does.
func TestCommentShowsTheFieldsOfAnActor(t *testing.T) {
	godoc.Aliases(t, map[string]any{"Actor": actors.Actor{}})
}
