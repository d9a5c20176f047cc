package value_test

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/value"
)

type point struct{ X, Y float64 }

type padded struct {
	A int64
	B int8
	C int32
}

type tree struct {
	Name        string
	Left, Right *tree
}

type record struct {
	Name   string
	Tags   []string
	Counts map[string]int
	Next   *record
	When   time.Time
	Any    any
}

type shape interface{ Area() float64 }

func (p point) Area() float64 { return p.X * p.Y }

type opaque struct{ hidden int }

type word string

func init() { gob.Register(point{}) }

// back encodes and decodes v and returns the result.
func back[T any](t *testing.T, v T) T {
	t.Helper()
	before := []byte("before")
	b, err := value.Append(before, &v)
	require.NoError(t, err)
	require.Equal(t, "before", string(b[:6]))
	var got T
	require.NoError(t, value.Decode(b[6:], &got))
	clear(b) // the value must not refer to these bytes
	b, err = value.AppendRest(nil, &v)
	require.NoError(t, err)
	var rest T
	require.NoError(t, value.DecodeRest(b, &rest))
	require.Equal(t, got, rest)
	return got
}

func same[T any](t *testing.T, v T) {
	t.Helper()
	require.Equal(t, v, back(t, v))
}

func TestValuesArriveAsTheyAre(t *testing.T) {
	same(t, 42)
	same(t, true)
	same(t, math.Inf(-1))
	same(t, complex(1, -2))
	same(t, point{1, 2})
	same(t, padded{1, 2, 3})
	same(t, [3]int16{1, 2, 3})
	same(t, struct{}{})
	same(t, [][0]int{{}, {}})
	same(t, "")
	same(t, word("naïve\x00"))
	same(t, []byte("bytes"))
	same(t, []point{{1, 2}, {3, 4}})
	same(t, []padded{{1, 2, 3}, {4, 5, 6}})
	same(t, []word{"a", "", "c"})
	same(t, [][]int{{1}, {2, 3}})
	same(t, map[int][]int{1: {2, 3}, 4: {5}})
	same(t, map[string]map[string]bool{"a": {"b": true}})
	same(t, &point{1, 2})
	same(t, &tree{"root", &tree{"left", nil, nil}, nil})
	same(t, record{"r", []string{"t"}, map[string]int{"a": 1}, &record{Name: "n"}, time.Unix(1, 2).UTC(), point{3, 4}})
	same[any](t, point{5, 6})
	same[shape](t, point{5, 6})
	same(t, []any{1, "two", point{3, 4}})
	same(t, big.NewInt(1<<62))
	same(t, 90*time.Second)
	zero := 0
	same(t, &zero)
	same(t, reflect.Struct)
}

// TestNilAndEmptyAreToldApart checks that nil values arrive as nil, and empty values as empty. An
// empty slice within a value that gob encodes arrives as nil.
func TestNilAndEmptyAreToldApart(t *testing.T) {
	same[map[int][]int](t, nil)
	same(t, map[int][]int{})
	same[[]int](t, nil)
	same(t, []int{})
	same[[]string](t, nil)
	same(t, []string{})
	same[*point](t, nil)
	same[*tree](t, nil)
	same[any](t, nil)
	same[shape](t, nil)
	same(t, record{Counts: map[string]int{}})
	require.Nil(t, back(t, record{Tags: []string{}}).Tags, "gob sends no empty slice within a value")
}

// chained is a linked structure that encodes itself. Only *chained has the methods.
type chained struct{ Root *link }

type link struct {
	Next, Previous *link
	Value          byte
}

func (c *chained) MarshalBinary() (b []byte, err error) {
	for l := c.Root; l != nil; l = l.Next {
		b = append(b, l.Value)
	}
	return b, nil
}

func (c *chained) UnmarshalBinary(b []byte) error {
	c.Root = nil
	for i := range b {
		l := &link{Next: c.Root, Value: b[len(b)-1-i]}
		if c.Root != nil {
			c.Root.Previous = l
		}
		c.Root = l
	}
	return nil
}

// TestSelfEncodingParts checks values that contain a type with an encoding of its own, whose methods have
// pointer receivers. Its parts, which form a cycle, are not visited.
func TestSelfEncodingParts(t *testing.T) {
	var c chained
	require.NoError(t, c.UnmarshalBinary([]byte{1, 2, 3}))
	same(t, c)
	same(t, []chained{c, {}})
	same(t, struct{ Names map[string]*chained }{map[string]*chained{"c": &c}})
}

// TestPaddingIsZero checks that padding is sent as zeros.
func TestPaddingIsZero(t *testing.T) {
	for _, encode := range []func(p padded) ([]byte, error){
		func(p padded) ([]byte, error) { return value.Append(nil, &p) },
		func(p padded) ([]byte, error) { s := []padded{p}; return value.Append(nil, &s) },
	} {
		dirty := padded{A: -1, B: -1, C: -1}
		fillPadding(&dirty)
		b, err := encode(dirty)
		require.NoError(t, err)
		require.Equal(t, []byte{0xff, 0, 0, 0, 0xff}, b[len(b)-8:][:5])
	}
}

// TestRefusedValues checks that a value that cannot be encoded is refused, and that nothing is
// appended.
func TestRefusedValues(t *testing.T) {
	loop := &tree{Name: "loop"}
	loop.Left = loop
	deep := &tree{}
	for range 20_000 {
		deep = &tree{Left: deep}
	}
	round := &titled{}
	round.Next = round
	self := map[string]any{}
	self["self"] = self
	refused(t, loop, "contains itself")
	refused(t, deep, "nested more than")
	refused(t, round, "contains itself")
	refused[any](t, self, "contains itself")
	refused(t, opaque{1}, "") // "": not refused, because its bytes can be sent
	refused(t, &opaque{1}, "no exported fields")
	refused(t, func() {}, "func")
	refused(t, make(chan int), "chan")
	refused[any](t, tree{}, "not registered")
	refused(t, new(*tree), "a pointer to a nil *value_test.tree")
	refused(t, new(*int), "a pointer to a nil *int")
	refused(t, new(**int), "a pointer to a nil **int")
	refused(t, unlucky{}, "panic: unlucky")
	require.ErrorIs(t, encodeError(loop), value.ErrDepth)
}

// titled is a type that contains itself and has a text form, which gob does not use.
type titled struct{ Next *titled }

func (*titled) MarshalText() ([]byte, error) { return []byte("title"), nil }

// unlucky is a type whose encoding panics.
type unlucky struct{ Names []string }

func (unlucky) GobEncode() ([]byte, error) { panic("unlucky") }

func refused[T any](t *testing.T, v T, why string) {
	t.Helper()
	b, err := value.Append([]byte("before"), &v)
	if why == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, why)
	require.Equal(t, "before", string(b))
}

func encodeError[T any](v T) error {
	_, err := value.Append(nil, &v)
	return err
}

// TestTypesAreCompared checks that a value of another type is refused with an error that names
// both types.
func TestTypesAreCompared(t *testing.T) {
	type padded struct {
		A int64
		B int8
		C int32
	}
	for name, c := range map[string]struct {
		sent, want string
		decode     func(b []byte) error
		b          []byte
	}{
		"another type":          {"value_test.point", "[]string (gob)", decode[[]string], encode(point{})},
		"equal layout":          {"value_test.padded", "value_test.padded", decode[padded], encode(padded2{})},
		"a pointer":             {"value_test.point ({float64*2})", "*github.com", decode[*point], encode(point{})},
		"nil of another":        {"map[int]int", "[]int", decode[[]int], encode(map[int]int(nil))},
		"int and int64":         {"int ({int64})", "int64 ({int64})", decode[int64], encode(1)},
		"elements of a map":     {"map[string][]int", "map[string][]uint", decode[map[string][]uint], encode(map[string][]int{})},
		"another codec at both": {"value_test.point", "value_test.coded (*github.com", decode[coded], encode(point{})},
	} {
		var e *value.TypeError
		require.ErrorAs(t, c.decode(c.b), &e, name)
		require.Contains(t, e.Sent, c.sent, name)
		require.Contains(t, e.Want, c.want, name)
		require.NotEqual(t, e.Sent, e.Want, name)
	}
}

type padded2 padded

func encode[T any](v T) []byte {
	b, err := value.Append(nil, &v)
	if err != nil {
		panic(err)
	}
	return b
}

func decode[T any](b []byte) error {
	var v T
	return value.Decode(b, &v)
}

// coded has a codec of the test. The codec refuses or panics at certain texts: "panic" when it decodes, and "panics"
// when it encodes.
type coded struct{ text string }

type codec struct{ prefix string }

func (c *codec) Append(b []byte, v *coded) ([]byte, error) {
	if v.text == "refuse" {
		return append(b, "part"...), errors.New("refused")
	}
	if v.text == "panics" {
		panic("no")
	}
	return append(append(b, c.prefix...), v.text...), nil
}

func (c *codec) Decode(b []byte, v *coded) error {
	if string(b) == c.prefix+"panic" {
		panic("no")
	}
	v.text = strings.TrimPrefix(string(b), c.prefix)
	return nil
}

func init() { value.Register(&codec{"first:"}) }

func TestRegisteredCodecs(t *testing.T) {
	value.Register(&codec{"second:"})
	require.True(t, bytes.HasSuffix(encode(coded{"x"}), []byte("first:x")), "only the first one counts")
	same(t, coded{"x"})
	require.ErrorIs(t, decode[coded](encode(coded{"panic"})), value.ErrMalformed)
	refused(t, coded{"refuse"}, "refused")
	refused(t, coded{"panics"}, "panic: no")
	require.NotNil(t, value.Registered[coded]())
	require.Nil(t, value.Registered[point]())

	value.Register(value.JSON[*record]{})
	same(t, &record{Name: "json", Tags: []string{}})
	require.Contains(t, string(encode(&record{Name: "json"})), `"Name":"json"`)
	require.ErrorContains(t, decode[*record](append(encode(&record{}), '{')), "invalid character")
	same[*record](t, nil)
}

func TestFailuresTravel(t *testing.T) {
	err := decode[point](value.AppendFailure(nil, errors.New("no value")))
	require.ErrorIs(t, err, value.ErrFailed)
	require.ErrorContains(t, err, "no value")
}

// TestTruncations checks that an additional byte and every truncation is an error, except a
// truncation of a slice at the beginning of an element.
func TestTruncations(t *testing.T) {
	for name, c := range map[string]struct {
		b      []byte
		decode func(b []byte) error
	}{
		"plain":   {encode(point{1, 2}), decode[point]},
		"row":     {encode([]int32{1}), decode[[]int32]},
		"gob":     {encode(map[int][]int{1: {2}}), decode[map[int][]int]},
		"nil":     {encode(map[int]int(nil)), decode[map[int]int]},
		"box":     {encode[any](point{1, 2}), decode[any]},
		"pointer": {encode(&tree{Name: "x"}), decode[*tree]},
	} {
		require.NoError(t, c.decode(c.b), name)
		require.Error(t, c.decode(append(bytes.Clone(c.b), 0)), name)
		for n := range c.b {
			if err := c.decode(c.b[:n]); name != "row" || n != len(c.b)-4 {
				require.Error(t, err, "%s cut to %d bytes", name, n)
			}
		}
	}
	head := encode(point{1, 2})
	binary.LittleEndian.PutUint16(head[1:], math.MaxUint16)
	require.ErrorIs(t, decode[point](head), value.ErrMalformed)
}

// FuzzDecode decodes arbitrary bytes as values of several types. Nothing may panic, and a decoded
// value must be encodable.
func FuzzDecode(f *testing.F) {
	for _, b := range [][]byte{
		encode(point{1, 2}), encode([]int32{1, 2}), encode("text"), encode(map[int][]int{1: {2}}), encode[any](point{1, 2}),
		encode(&tree{"x", &tree{}, nil}), encode(record{Name: "r", Counts: map[string]int{"a": 1}}), value.AppendFailure(nil, errors.New("x")),
		encode(map[int][]int(nil)),
		{},
		{1, 0xff, 0xff},
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 64<<10 {
			return
		}
		survive[point](t, b)
		survive[[]int32](t, b)
		survive[string](t, b)
		survive[map[int][]int](t, b)
		survive[any](t, b)
		survive[*tree](t, b)
		survive[record](t, b)
	})
}

// survive decodes b, and also b with a valid head.
func survive[T any](t *testing.T, b []byte) {
	t.Helper()
	var v T
	if value.Decode(b, &v) == nil {
		_, err := value.Append(nil, &v)
		require.NoError(t, err)
	}
	name := value.Name[T]()
	head := append(binary.LittleEndian.AppendUint16([]byte{1}, uint16(len(name))), name...)
	var w, x T
	_ = value.Decode(append(head, b...), &w)
	_ = value.DecodeRest(b, &x)
}
