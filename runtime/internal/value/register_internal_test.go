package value

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// note is a type for which two codecs are registered.
type note struct{ text string }

// noteCodec encodes a note as its text behind a prefix.
type noteCodec struct{ prefix string }

func (c noteCodec) Append(b []byte, v *note) ([]byte, error) {
	return append(append(b, c.prefix...), v.text...), nil
}

func (c noteCodec) Decode([]byte, *note) error { return nil }

// When Register returns, the codec of the first call is in use, even if that call has not returned. The test simulates
// a first call that has carried out only its first step.
func TestRegisterBesideTheFirstCall(t *testing.T) {
	registered.Store(reflect.TypeFor[note](), Codec[note](noteCodec{"first:"}))
	Register(noteCodec{"second:"})
	b, err := Append(nil, &note{"x"})
	require.NoError(t, err)
	require.Contains(t, string(b), "first:x")
}
