package actors

import (
	"reflect"
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// When there is no room for another type a peer that defines one is told that it does
// not travel, a message of one is a dead letter, and Register says so itself.
func TestTypesAreFull(t *testing.T) {
	const name = protoPrefix + "actor.Unwatch"
	old := codecs.all
	forget := func() {
		codecs.all = old
		codecs.byType.Delete(reflect.TypeFor[*actor.Unwatch]())
		delete(codecs.byName, name)
		for i := range codecs.recent {
			codecs.recent[i].Store(nil)
		}
	}
	forget()
	defer forget()
	codecs.all = append(slices.Clone(old), make([]*codec, typesMax-len(old))...)
	require.Nil(t, lookup(name, "").decode)
	require.Nil(t, codecOf(&actor.Unwatch{}))
	require.PanicsWithValue(t, "actors: more than 1024 types", Register[struct{ Unknown int }])
	require.NotNil(t, codecOf("text"))
	codecs.all = old
	require.NotNil(t, codecOf(&actor.Unwatch{}), "it was not remembered")
}
