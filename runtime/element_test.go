package runtime_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

type point struct{ X, Y float64 }

type padded struct {
	A int64
	B int8
	C int32
}

// Element accepts types without pointers, up to the largest size of an element.
func TestElementAcceptsWhatHasNoPointers(t *testing.T) {
	type named complex64
	type nested struct {
		P [3]point
		N named
		_ [4]byte
	}
	for name, err := range map[string]error{
		"int": runtime.Element[int](), "byte": runtime.Element[byte](), "bool": runtime.Element[bool](),
		"uintptr": runtime.Element[uintptr](), "complex128": runtime.Element[complex128](),
		"named": runtime.Element[named](), "nested": runtime.Element[nested](),
		"empty struct": runtime.Element[struct{}](), "array of none": runtime.Element[[0]int](),
		"padded": runtime.Element[padded](), "large": runtime.Element[[1 << 20]float32](),
		"largest": runtime.Element[[1<<31 - 1]byte](),
	} {
		require.NoError(t, err, name)
	}
}

// The error of Element for a type with pointers names the field and its kind.
func TestElementNamesTheFieldInTheWay(t *testing.T) {
	type inner struct{ Names []string }
	type outer struct {
		ID    int
		Parts [2]inner
	}
	type blank struct{ _ *int }
	for _, c := range []struct {
		err         error
		field, kind string
	}{
		{runtime.Element[string](), "", "string"},
		{runtime.Element[[1 << 31]byte](), "", "type of 2 GiB or more"},
		{runtime.Element[*int](), "", "pointer"},
		{runtime.Element[unsafe.Pointer](), "", "pointer"},
		{runtime.Element[any](), "", "interface"},
		{runtime.Element[func()](), "", "function"},
		{runtime.Element[chan int](), "", "channel"},
		{runtime.Element[map[int]int](), "", "map"},
		{runtime.Element[outer](), "Parts[].Names", "slice"},
		{runtime.Element[[0]string](), "[]", "string"},
		{runtime.Element[blank](), "_", "pointer"},
	} {
		var typeErr *runtime.ElementTypeError
		require.ErrorAs(t, c.err, &typeErr)
		require.ErrorIs(t, c.err, runtime.ErrElementType)
		require.Equal(t, c.field, typeErr.Field, c.err)
		require.Equal(t, c.kind, typeErr.Kind, c.err)
	}
	require.EqualError(t, runtime.Element[outer](),
		"element type cannot be sent: field Parts[].Names of runtime_test.outer is a slice (SendValue and the other functions of values take any type)")
}

// exchanged sends one value of type S to the rank itself and receives it as an R.
func exchanged[S, R any](t *testing.T, value S) (R, error) {
	t.Helper()
	got := make([]R, 1)
	var err error
	local(t, 1, func(c *runtime.Comm) {
		_, err = runtime.SendRecv(c, []S{value}, 0, 1, got, 0, 1)
	})
	return got[0], err
}

// Send and receive types match if their layouts are equal, whatever their names, or if one side is
// an array of bytes.
func TestTypesAgreeWhenLayoutsDo(t *testing.T) {
	type celsius float64
	type vector struct{ A, B float64 }
	_, err := exchanged[float64, celsius](t, 1)
	require.NoError(t, err)
	v, err := exchanged[point, vector](t, point{1, 2})
	require.NoError(t, err)
	require.Equal(t, vector{1, 2}, v)
	a, err := exchanged[point, [2]float64](t, point{3, 4})
	require.NoError(t, err)
	require.Equal(t, [2]float64{3, 4}, a)
	_, err = exchanged[int, int64](t, 1)
	require.NoError(t, err)
	b, err := exchanged[uint32, [4]byte](t, 0x04030201)
	require.NoError(t, err)
	require.Equal(t, [4]byte{1, 2, 3, 4}, b)
	_, err = exchanged[[16]byte, padded](t, [16]byte{})
	require.NoError(t, err)
	type written struct {
		A int64
		B int8
		_ [3]int8
		C int32
	}
	_, err = exchanged[written, padded](t, written{})
	require.NoError(t, err)
}

// A receive with another type than the send ends with an error that names both types, the source and
// the tag.
func TestTypeMismatchNamesBothTypes(t *testing.T) {
	for _, c := range []struct {
		name       string
		run        func() error
		sent, want string
	}{
		{"int64 as float64", func() error { _, err := exchanged[int64, float64](t, 1); return err }, "int64", "float64"},
		{"int64 as uint64", func() error { _, err := exchanged[int64, uint64](t, 1); return err }, "int64", "uint64"},
		{"padded as point", func() error { _, err := exchanged[padded, point](t, padded{}); return err }, "{int64 int8 _3 int32}", "float64"},
		{"point as padded", func() error { _, err := exchanged[point, padded](t, point{}); return err }, "float64", "{int64 int8 _3 int32}"},
	} {
		var mismatch *runtime.TypeMismatchError
		require.ErrorAs(t, c.run(), &mismatch, c.name)
		require.Equal(t, runtime.TypeMismatchError{Source: 0, Tag: 1, Sent: c.sent, Want: c.want}, *mismatch, c.name)
	}
}

// After a receive has ended because of a message of another type, the next receive gets the next
// message.
func TestTypeMismatchLosesNothingElse(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			require.NoError(t, runtime.Send(c, []padded{{}, {}}, 1, 3))
			require.NoError(t, runtime.Send(c, []int{42}, 1, 3))
			return
		}
		_, err := runtime.Recv(c, make([]float32, 8), 0, 3)
		var mismatch *runtime.TypeMismatchError
		require.ErrorAs(t, err, &mismatch)
		got := make([]int, 1)
		_, err = runtime.Recv(c, got, 0, 3)
		require.NoError(t, err)
		require.Equal(t, 42, got[0])
	})
}

// Sends set the padding of elements to zero in the message, and leave the memory of the sender
// unchanged.
func TestPaddingTravelsAsZeros(t *testing.T) {
	const n = 100
	values := make([]padded, n)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), n*int(unsafe.Sizeof(values[0])))
	for i := range raw {
		raw[i] = 0xee
	}
	for i := range values {
		values[i] = padded{int64(i), int8(i), int32(-i)}
	}
	send := map[string]func(c *runtime.Comm) error{
		"Send":  func(c *runtime.Comm) error { return runtime.Send(c, values, 1, 0) },
		"Isend": func(c *runtime.Comm) error { return runtime.WaitAll([]runtime.Request{runtime.Isend(c, values, 1, 0)}) },
		"Strided": func(c *runtime.Comm) error {
			return runtime.SendStrided(c, values, runtime.Strided{Count: n, Block: 1, Stride: 1}, 1, 0)
		},
	}
	for name, send := range send {
		local(t, 2, func(c *runtime.Comm) {
			if c.Rank() == 0 {
				require.NoError(t, send(c), name)
				return
			}
			got := make([]byte, len(raw))
			s, err := runtime.Recv(c, got, 0, 0)
			require.NoError(t, err, name)
			require.Equal(t, n, runtime.CountOf[padded](s), name)
			for i := range n {
				hole := got[i*16+9 : i*16+12]
				require.Equal(t, []byte{0, 0, 0}, hole, "%s, element %d", name, i)
				require.Equal(t, byte(i), got[i*16+8], name)
			}
		})
	}
	require.Equal(t, byte(0xee), raw[9], "the sender's memory is left alone")
}

// Sends, receives, SendRecv, strided operations and RecvMatched refuse an element type with
// pointers. Sends refuse a type of 2 GiB or more, too.
func TestElementsThatCannotTravelAreRefusedEverywhere(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		bad, huge := make([]string, 1), [][1 << 31]byte{}
		column := runtime.Strided{Count: 1, Block: 1, Stride: 1}
		matched := func() *runtime.Matched {
			require.NoError(t, runtime.Send(c, []int{1}, 0, 0))
			m, err := runtime.Mprobe(c, 0, 0)
			require.NoError(t, err)
			return m
		}
		for name, err := range map[string]error{
			"Send":         runtime.Send(c, bad, 0, 0),
			"Ssend":        runtime.Ssend(c, bad, 0, 0),
			"Isend":        second(runtime.Isend(c, bad, 0, 0).Wait()),
			"Send, huge":   runtime.Send(c, huge, 0, 0),
			"Isend, huge":  second(runtime.Isend(c, huge, 0, 0).Wait()),
			"Recv":         second(runtime.Recv(c, bad, 0, 0)),
			"Irecv":        second(runtime.Irecv(c, bad, 0, 0).Wait()),
			"SendRecv":     second(runtime.SendRecv(c, bad, 0, 0, []int{0}, 0, 0)),
			"SendStrided":  runtime.SendStrided(c, bad, column, 0, 0),
			"IrecvStrided": second(runtime.IrecvStrided(c, bad, column, 0, 0).Wait()),
			"RecvMatched":  second(runtime.RecvMatched(matched(), bad)),
		} {
			require.ErrorIs(t, err, runtime.ErrElementType, name)
		}
	})
}

// second returns the error of two results.
func second[T any](_ T, err error) error { return err }

// Elements of size 0 and nil slices can be sent and received.
func TestElementsOfNoSize(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			require.NoError(t, runtime.Send(c, make([]struct{}, 5), 1, 0))
			require.NoError(t, runtime.Send[int](c, nil, 1, 0))
			return
		}
		s, err := runtime.Recv(c, make([]struct{}, 5), 0, 0)
		require.NoError(t, err)
		require.Zero(t, s.Count())
		s, err = runtime.Recv[int](c, nil, 0, 0)
		require.NoError(t, err)
		require.Zero(t, s.Bytes)
	})
	require.NoError(t, errors.Join(runtime.Element[struct{}]()))
}
