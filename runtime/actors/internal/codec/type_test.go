package codec_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	html "html/template"
	"testing"
	text "text/template"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Types of values. For each way to encode a value there is at least one of them.
type (
	plain struct{ A, B int32 }
	// padded has three bytes of padding, and seven more at its end.
	padded struct {
		A byte
		B int32
		C int64
		D byte
	}
	listed struct{ Names []string } // encoded by gob
	looped struct {
		Name string
		Next *looped
		Any  any
	}
	own   struct{ Text string } // encoded by a codec of its own
	empty struct{}
	wide  [100]int64 // too long for arriving values to share an allocation
)

var errRefused = errors.New("refused")

// ownCodec panics at "!" and refuses "?".
type ownCodec struct{}

func (ownCodec) Append(b []byte, v *own) ([]byte, error) { return append(b, v.Text...), nil }

func (ownCodec) Decode(b []byte, v *own) error {
	switch v.Text = string(b); v.Text {
	case "!":
		panic("as told")
	case "?":
		return errRefused
	}
	return nil
}

func init() {
	codec.Register[plain]()
	codec.Register[padded]()
	codec.Register[listed]()
	codec.Register[looped]()
	codec.Register[empty]()
	codec.Register[wide]()
	codec.RegisterCodec[own](ownCodec{})
	codec.RegisterMessage[*message]()
}

// message stands for *runtime.Message.
type message struct{}

// there returns the Definitions of a peer to which the types of the messages have been defined.
func there(t *testing.T, messages ...any) *codec.Definitions {
	t.Helper()
	d := &codec.Definitions{}
	for _, m := range messages {
		c := codec.Of(m)
		if c.Number >= codec.NumberDefined {
			require.NoError(t, d.Define(c.Number, c.Definition()))
		}
	}
	return d
}

// TestMessagesArrive checks that a value that one rank encodes is decoded at another rank, as a
// value or as a pointer. If the type is decoded by copying, the function that Copied returns must
// give the same value in each of several calls.
func TestMessagesArrive(t *testing.T) {
	word := "in place"
	for _, m := range []any{
		[]byte("bytes"), word, 7, true, 2.5, int32(-1), uint64(1 << 63), float32(1), int64(3), uint(4), uint32(5),
		plain{1, 2},
		&plain{3, 4},
		padded{1, 2, 3, 4},
		&padded{5, 6, 7, 8},
		empty{},
		&empty{}, &wide{1, 99: 2},
		wide{3},
		listed{[]string{"a"}},
		&listed{[]string{"b", "c"}},
		looped{Name: "a", Next: &looped{Name: "b", Any: 1}},
		own{"x"},
		&own{"y"},
	} {
		c := codec.Of(m)
		require.NotNil(t, c, "%T", m)
		require.Same(t, c, codec.Of(m))
		prefix := []byte{0xff}
		b, err := c.Append(prefix, m)
		require.NoError(t, err)
		require.Equal(t, byte(0xff), b[0])
		b = b[1:]
		if c.View != nil {
			require.Equal(t, b, c.View(m), "%T", m)
		}
		d := there(t, m)
		known, err := d.Type(c.Number)
		require.NoError(t, err)
		got, err := known.Decode(b)
		require.NoError(t, err)
		require.Equal(t, m, got)
		copied := d.Copied(c.Number)
		require.Equal(t, known.Copied, copied != nil, "%T", m)
		for range 3 {
			if copied == nil {
				break
			}
			got, err := copied(b)
			require.NoError(t, err)
			require.Equal(t, m, got)
			_, err = copied(append(b, 0))
			if c.Layout != "" {
				require.ErrorIs(t, err, codec.ErrMalformed, "%T", m)
			}
		}
		if c.Layout != "" && len(b) > 0 {
			_, err = known.Decode(b[1:])
			require.ErrorIs(t, err, codec.ErrMalformed)
		}
	}
	for _, m := range []any{nil, uintptr(1), struct{ X int }{}, []int{1}} {
		require.Nil(t, codec.Of(m), "%T", m)
	}
	require.Same(t, codec.Message, codec.Of(&message{}))
	require.Nil(t, codec.Message.Decode)
}

// TestLoops checks that a value that contains itself, or that is nested too deeply, is refused.
// gob would overflow the stack on such a value.
func TestLoops(t *testing.T) {
	pointer := &looped{}
	pointer.Next = pointer
	slice := []any{1, nil}
	slice[1] = slice
	deep := &looped{}
	for range 20_000 {
		deep = &looped{Next: deep}
	}
	for name, m := range map[string]any{"pointer": pointer, "value": *pointer, "slice": looped{Any: slice}, "deep": deep} {
		b, err := codec.Of(m).Append([]byte{1}, m)
		require.ErrorIs(t, err, codec.ErrDepth, name)
		require.Equal(t, []byte{1}, b, name)
	}
}

// TestProtobuf checks that messages of protobuf need no registration.
func TestProtobuf(t *testing.T) {
	m := actor.NewPID("rank:0", "x")
	c := codec.Of(m)
	b, err := c.Append(nil, m)
	require.NoError(t, err)
	known, err := there(t, m).Type(c.Number)
	require.NoError(t, err)
	got, err := known.Decode(b)
	require.NoError(t, err)
	require.True(t, m.Equal(got.(*actor.PID)))
	_, err = known.Decode([]byte{0xff})
	require.Error(t, err)
}

// TestDynamicProtobuf checks that messages of dynamicpb, which share a Go type, arrive as messages of the types
// that were sent.
func TestDynamicProtobuf(t *testing.T) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("dynamic.proto"), Package: proto.String("dynamic"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("First")}, {Name: proto.String("Second")}},
	}, nil)
	require.NoError(t, err)
	var numbers []uint32
	for range 2 {
		for i := range 2 {
			m := dynamicpb.NewMessage(file.Messages().Get(i))
			c := codec.Of(m)
			numbers = append(numbers, c.Number)
			b, err := c.Append(nil, m)
			require.NoError(t, err)
			known, err := there(t, m).Type(c.Number)
			require.NoError(t, err)
			got, err := known.Decode(b)
			require.NoError(t, err)
			require.Equal(t, m.Descriptor().FullName(), got.(proto.Message).ProtoReflect().Descriptor().FullName())
		}
	}
	require.Equal(t, numbers[:2], numbers[2:])
	// The message has a generated type, too: it arrives as this type.
	m := dynamicpb.NewMessage((&descriptorpb.OneofOptions{}).ProtoReflect().Descriptor())
	require.NotNil(t, codec.Of(m))
	require.NotNil(t, codec.Of(&descriptorpb.OneofOptions{}))
	known, err := there(t, m).Type(codec.Of(m).Number)
	require.NoError(t, err)
	got, err := known.Decode(nil)
	require.NoError(t, err)
	require.IsType(t, &descriptorpb.OneofOptions{}, got)
}

// TestPadding checks that padding is sent as zeros and not as the contents of memory. Values with
// padding must not be sent in place.
func TestPadding(t *testing.T) {
	dirty := make([]byte, 24)
	for i := range dirty {
		dirty[i] = 0xff
	}
	v := padded{}
	fill(&v, dirty)
	for _, m := range []any{v, &v} {
		c := codec.Of(m)
		require.Nil(t, c.View)
		b, err := c.Append(nil, m)
		require.NoError(t, err)
		require.Equal(t, "ff000000"+"ffffffff"+"ffffffffffffffff"+"ff00000000000000", hex.EncodeToString(b))
	}
}

// TestNilPointers checks that nil pointers of all types are refused.
func TestNilPointers(t *testing.T) {
	for _, m := range []any{(*plain)(nil), (*padded)(nil), (*empty)(nil), (*listed)(nil), (*own)(nil)} {
		c := codec.Of(m)
		if c.View != nil {
			require.Nil(t, c.View(m))
		}
		_, err := c.Append(nil, m)
		require.EqualError(t, err, "a nil pointer cannot be sent as a message", "%T", m)
	}
}

// TestCodecsAreContained checks that Decode returns an error if the program's codec refuses a
// peer's message or panics.
func TestCodecsAreContained(t *testing.T) {
	for _, m := range []any{own{}, &own{}} {
		_, err := codec.Of(m).Decode([]byte("?"))
		require.ErrorIs(t, err, errRefused)
		_, err = codec.Of(m).Decode([]byte("!"))
		require.EqualError(t, err, "panic: as told")
	}
}

func TestDefinitions(t *testing.T) {
	c := codec.Of(plain{})
	require.Equal(t, c.Name+"{int32*2}", string(c.Definition()[2:]))
	require.Equal(t, "*"+c.Name, codec.Of(&plain{}).Name)
	d := &codec.Definitions{}
	_, err := d.Type(c.Number)
	require.ErrorIs(t, err, codec.ErrMalformed, "not defined")
	require.Nil(t, d.Copied(c.Number))
	require.NoError(t, d.Define(900, append([]byte{3, 0}, "foobar"...)))
	_, err = d.Type(900)
	require.EqualError(t, err, "type is not registered, see actors.RegisterType: foo is not known to the receiver, which must register it, too")
	require.Nil(t, d.Copied(900))
	_, err = d.Type(899)
	require.ErrorIs(t, err, codec.ErrMalformed, "not defined, though a later one is")
	other := *c
	other.Layout = "{int64}"
	require.NoError(t, d.Define(899, other.Definition()))
	_, err = d.Type(899)
	require.ErrorIs(t, err, codec.ErrUnregistered)
	require.ErrorContains(t, err, "another layout at the receiver: {int32*2} there, {int64} at the sender")
	// A definition replaces an earlier one.
	require.NoError(t, d.Define(899, c.Definition()))
	require.NotNil(t, d.Copied(899))
	require.NoError(t, d.Define(899, codec.Of(listed{}).Definition()))
	require.Nil(t, d.Copied(899))
	for name, bad := range map[string]struct {
		number uint32
		body   []byte
	}{
		"number":   {15, c.Definition()},
		"too high": {16 + 1024, c.Definition()},
		"short":    {16, []byte{0}},
		"cut":      {16, []byte{2, 0, 'a'}},
	} {
		require.ErrorIs(t, d.Define(bad.number, bad.body), codec.ErrMalformed, name)
	}
	for _, number := range []uint32{0, codec.NumberWatch, 15, 16 + 1024, 1<<32 - 1} {
		_, err := d.Type(number)
		require.ErrorIs(t, err, codec.ErrMalformed, number)
		require.Nil(t, d.Copied(number))
	}
}

// TestNamesOfTypes checks that types of two packages whose paths have the same last element have
// different names. Types that are declared in functions can have the same name; Register must refuse the
// second of them.
func TestNamesOfTypes(t *testing.T) {
	codec.Register[[]*text.Template]()
	codec.Register[map[string]*html.Template]()
	codec.Register[[]*html.Template]()
	codec.Register[[]*html.Template]() // a second time
	for m, name := range map[any]string{
		&[]*text.Template{}:          "*[]*text/template.Template",
		&[]*html.Template{}:          "*[]*html/template.Template",
		&map[string]*html.Template{}: "*map[string]*html/template.Template",
	} {
		require.Equal(t, name, codec.Of(m).Name)
		known, err := there(t, m).Type(codec.Of(m).Number)
		require.NoError(t, err)
		require.Same(t, codec.Of(m), known)
	}
	type local struct{ A int }
	codec.Register[local]()
	codec.Register[local]()
	func() {
		type local struct{ B int }
		require.PanicsWithValue(t, "actors: another registered type has the name "+
			"github.com/gorun-hpc/gorun/runtime/actors/internal/codec_test.local, too. "+
			"Declare each of them as a type of a package, not in a function", codec.Register[local])
		require.Nil(t, codec.Of(local{}))
	}()
	require.NotNil(t, codec.Of(local{}))
	require.PanicsWithValue(t, "actors: fmt.Stringer is an interface: register the types of the messages", codec.Register[fmt.Stringer])
}

// TestAnnounced checks that a type is defined to a peer once, and again after all definitions
// were dropped.
func TestAnnounced(t *testing.T) {
	a := &codec.Announced{}
	one, other := codec.Of(plain{}), codec.Of(&plain{})
	require.True(t, a.Needs(one))
	a.Add(one)
	require.False(t, a.Needs(one))
	require.True(t, a.Needs(other))
	a.Clear()
	require.True(t, a.Needs(one))
	for _, c := range []*codec.Type{codec.Bytes, codec.String, codec.Message} {
		require.False(t, a.Needs(c), "it needs no definition")
	}
	a.Add(&codec.Type{Number: codec.NumberDefined + codec.TypesMax - 1})
	require.False(t, a.Needs(&codec.Type{Number: codec.NumberDefined + codec.TypesMax - 1}))
}

// TestNoAllocations checks that Of, View and Append allocate nothing.
func TestNoAllocations(t *testing.T) {
	var m any = &plain{1, 2}
	var sum int
	require.Zero(t, testing.AllocsPerRun(100, func() { sum += len(codec.Of(m).View(m)) }))
	b := make([]byte, 0, 64)
	var v any = &padded{}
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = codec.Of(v).Append(b, v) }))
}

// FuzzDefinition lets a peer define an arbitrary type and send a message of this type.
func FuzzDefinition(f *testing.F) {
	for _, m := range []any{plain{1, 2}, &padded{}, listed{[]string{"a"}}, actor.NewPID("rank:0", "x")} {
		c := codec.Of(m)
		b, err := c.Append(nil, m)
		require.NoError(f, err)
		f.Add(uint32(16), c.Definition(), b)
	}
	f.Fuzz(func(t *testing.T, number uint32, definition, body []byte) {
		d := &codec.Definitions{}
		if err := d.Define(number, definition); err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		c, err := d.Type(number)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrUnregistered)
			return
		}
		m, err := c.Decode(body)
		if copied := d.Copied(number); copied != nil {
			_, again := copied(body)
			require.Equal(t, err == nil, again == nil)
		}
		if err == nil {
			require.Same(t, c, codec.Of(m))
		}
	})
}

// fill sets all memory of v to b, padding included.
func fill(v *padded, b []byte) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)), b)
}
