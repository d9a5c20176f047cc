package layout_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/layout"
)

type point struct{ X, Y float64 }

type padded struct {
	A int64
	B int8
	C int32
}

func TestLayouts(t *testing.T) {
	type ended struct {
		A int64
		B int8
	}
	type blank struct {
		A int32
		_ [4]byte
		B int64
	}
	type word uintptr
	for name, c := range map[string]struct {
		of    reflect.Type
		text  string
		holes []layout.Hole
	}{
		"bool":           {reflect.TypeFor[bool](), "{bool}", nil},
		"int":            {reflect.TypeFor[int](), "{int64}", nil},
		"uintptr":        {reflect.TypeFor[word](), "{uint64}", nil},
		"complex":        {reflect.TypeFor[complex128](), "{complex128}", nil},
		"array":          {reflect.TypeFor[[3]float32](), "{float32*3}", nil},
		"no elements":    {reflect.TypeFor[[0]int](), "{}", nil},
		"empty":          {reflect.TypeFor[struct{}](), "{}", nil},
		"struct":         {reflect.TypeFor[point](), "{float64*2}", nil},
		"structs":        {reflect.TypeFor[[2]point](), "{float64*4}", nil},
		"padded":         {reflect.TypeFor[padded](), "{int64 int8 _3 int32}", []layout.Hole{{9, 12}}},
		"padded, twice":  {reflect.TypeFor[[2]padded](), "{int64 int8 _3 int32 int64 int8 _3 int32}", []layout.Hole{{9, 12}, {25, 28}}},
		"padded at end":  {reflect.TypeFor[ended](), "{int64 int8 _7}", []layout.Hole{{9, 16}}},
		"ended, twice":   {reflect.TypeFor[[2]ended](), "{int64 int8 _7 int64 int8 _7}", []layout.Hole{{9, 16}, {25, 32}}},
		"blank":          {reflect.TypeFor[blank](), "{int32 _4 int64}", []layout.Hole{{4, 8}}},
		"padding alone":  {reflect.TypeFor[struct{ _ [4]byte }](), "{_4}", []layout.Hole{{0, 4}}},
		"large, at once": {reflect.TypeFor[[1 << 30]byte](), "{uint8*1073741824}", nil},
	} {
		l := layout.Of(c.of)
		require.Equal(t, c.text, l.Text(), name)
		require.Equal(t, c.holes, l.Holes, name)
		require.Equal(t, int(c.of.Size()), l.Size, name)
		require.Equal(t, c.holes == nil, l.Plain(), name)
		require.Empty(t, l.Kind, name)
	}
}

func TestSingleKinds(t *testing.T) {
	for _, c := range []struct {
		of     reflect.Type
		kind   reflect.Kind
		single bool
	}{
		{reflect.TypeFor[[2]point](), reflect.Float64, true},
		{reflect.TypeFor[int](), reflect.Int64, true},
		{reflect.TypeFor[padded](), reflect.Invalid, false},
		{reflect.TypeFor[struct{}](), reflect.Invalid, true},
		{reflect.TypeFor[struct{ _ [4]byte }](), reflect.Invalid, true},
	} {
		kind, single := layout.Of(c.of).Single()
		require.Equal(t, c.kind, kind, c.of)
		require.Equal(t, c.single, single, c.of)
	}
}

// TestPointers checks that the layout of a type with pointers names the first field with a pointer and its kind.
func TestPointers(t *testing.T) {
	type inner struct{ Names []string }
	for _, c := range []struct {
		of          reflect.Type
		field, kind string
	}{
		{reflect.TypeFor[string](), "", "string"},
		{reflect.TypeFor[unsafe.Pointer](), "", "pointer"},
		{reflect.TypeFor[func()](), "", "function"},
		{reflect.TypeFor[chan int](), "", "channel"},
		{reflect.TypeFor[struct {
			A     int8
			B     int64
			Parts [2]inner
		}](), "Parts[].Names", "slice"},
		{reflect.TypeFor[[0]string](), "[]", "string"},
		{reflect.TypeFor[struct{ _ *int }](), "_", "pointer"},
	} {
		l := layout.Of(c.of)
		require.Equal(t, c.field, l.Field, c.of)
		require.Equal(t, c.kind, l.Kind, c.of)
		require.False(t, l.Plain(), c.of)
		require.Empty(t, l.Holes, c.of)
		require.Equal(t, "{}", l.Text(), c.of)
	}
}

// TestLongTexts checks that the text of a long layout has a bounded length, and that two texts
// differ even if only the last fields of the types differ.
func TestLongTexts(t *testing.T) {
	fields := func(last reflect.Type) string {
		var all []reflect.StructField
		for i := range 200 {
			kind := []reflect.Type{reflect.TypeFor[int32](), reflect.TypeFor[float32]()}[i%2]
			all = append(all, reflect.StructField{Name: "F" + strings.Repeat("x", i), Type: kind})
		}
		return layout.Of(reflect.StructOf(append(all, reflect.StructField{Name: "Last", Type: last}))).Text()
	}
	one, other := fields(reflect.TypeFor[int32]()), fields(reflect.TypeFor[uint32]())
	require.Less(t, len(one), 513)
	require.Equal(t, one[:400], other[:400])
	require.NotEqual(t, one, other)
}

func TestClearHoles(t *testing.T) {
	b := bytes.Repeat([]byte{0xff}, 2*16+5)
	layout.Of(reflect.TypeFor[padded]()).ClearHoles(b)
	value := append(append(bytes.Repeat([]byte{0xff}, 9), 0, 0, 0), 0xff, 0xff, 0xff, 0xff)
	require.Equal(t, append(append(append([]byte(nil), value...), value...), 0xff, 0xff, 0xff, 0xff, 0xff), b)
	layout.Of(reflect.TypeFor[point]()).ClearHoles(b[:3])
	require.Equal(t, byte(0xff), b[0])
}
