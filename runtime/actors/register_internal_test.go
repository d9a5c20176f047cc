package actors

import (
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// When there is no room for another type a peer that defines one is told that it does
// not travel, a message of one is a dead letter, and Register says so itself.
func TestTypesAreFull(t *testing.T) {
	old := codecs.all
	codecs.all = append(slices.Clone(old), make([]*codec, typesMax-len(old))...)
	defer func() { codecs.all = old }()
	require.Nil(t, lookup(protoPrefix+"actor.Touched", "").decode)
	require.Nil(t, codecOf(&actor.Touched{}))
	require.PanicsWithValue(t, "actors: more than 1024 types", Register[struct{ Unknown int }])
	require.NotNil(t, codecOf("text"))
	codecs.all = old
	require.NotNil(t, codecOf(&actor.Touched{}), "it was not remembered")
}
