package codec

import (
	"reflect"
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// TestTypesAreFull checks a full table of types. A further type that a peer defines gets no
// decoder, a message of a further type is refused, and Register panics.
func TestTypesAreFull(t *testing.T) {
	const name = protoPrefix + "actor.Unwatch"
	old := types.all
	forget := func() {
		types.all = old
		types.byType.Delete(reflect.TypeFor[*actor.Unwatch]())
		delete(types.byName, name)
		for i := range types.recent {
			types.recent[i].Store(nil)
		}
	}
	forget()
	defer forget()
	types.all = append(slices.Clone(old), make([]*Type, TypesMax-len(old))...)
	require.Nil(t, find(name, "").Decode)
	require.Nil(t, Of(&actor.Unwatch{}))
	require.PanicsWithValue(t, "actors: more than 1024 types", Register[struct{ Unknown int }])
	require.NotNil(t, Of("text"))
	types.all = old
	require.NotNil(t, Of(&actor.Unwatch{}), "it was not remembered")
}
