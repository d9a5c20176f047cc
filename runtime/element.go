package runtime

import (
	"math"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/layout"
)

// CountOf returns the number of whole elements of type T in the message that s describes; 0 if the
// size of T is 0.
func CountOf[T any](s Status) int { return count(s.Bytes, elementOf[T]().size) }

// element describes a Go type for the sending and receiving of its values.
type element struct {
	// word is the address of the descriptor of the Go type, see elementOf.
	word uintptr
	// typ is the number of the layout, which the engine compares at a receive.
	typ engine.Type
	// size is the size of one value in bytes.
	size int
	// layout has the positions of the padding.
	layout *layout.Layout
	// err is the reason why the type cannot be sent, or nil.
	err error
	// plain is true if err is nil and the type has no padding: then the bytes are sent as they are.
	plain bool
}

// pack returns a copy of the values in b in which the padding is zero.
func (e *element) pack(b []byte) []byte {
	packed := append(make([]byte, 0, len(b)), b...)
	e.layout.ClearHoles(packed)
	return packed
}

// layoutFirst is the lowest engine.Type of a composite layout. Numbers below 64 are reserved for
// basic kinds.
const layoutFirst = 64

// kindTypes numbers the basic kinds. The numbers are part of the wire format: they never change,
// and new kinds get new numbers. Types with the same layout share a number. Number 0, of bytes,
// matches every number.
var kindTypes = map[reflect.Kind]engine.Type{
	reflect.Uint8:      0,
	reflect.Bool:       1,
	reflect.Int8:       2,
	reflect.Int16:      3,
	reflect.Uint16:     4,
	reflect.Int32:      5,
	reflect.Uint32:     6,
	reflect.Int64:      7,
	reflect.Uint64:     8,
	reflect.Float32:    9,
	reflect.Float64:    10,
	reflect.Complex64:  11,
	reflect.Complex128: 12,
}

// layouts holds the numbers of the composite layouts of this process.
var layouts = struct {
	// mu guards the fields. It is taken when a Go type is used for the first time and when the text of a
	// layout is needed, not for each message.
	mu    sync.Mutex
	types map[string]engine.Type // by the text of the layout
	texts []string               // index: number - layoutFirst
}{types: make(map[string]engine.Type)}

// elements is a cache of all elements that were made so far, by reflect.Type. elementRecent is a smaller
// cache in front of it, whose lookup takes a few nanoseconds.
var (
	elements      sync.Map // reflect.Type -> *element
	elementRecent [elementRecentSize]atomic.Pointer[element]
)

// typeName returns the text of the layout that has this number in this process.
func typeName(t engine.Type) string {
	if t < layoutFirst {
		for kind, number := range kindTypes {
			if number == t {
				return kind.String()
			}
		}
		return "type " + strconv.Itoa(int(t))
	}
	layouts.mu.Lock()
	defer layouts.mu.Unlock()
	if i := int(t - layoutFirst); i < len(layouts.texts) {
		return layouts.texts[i]
	}
	return "type " + strconv.Itoa(int(t))
}

// makeElement returns the element of a type. After the first call for a type, the element comes from the cache.
func makeElement(t reflect.Type, word uintptr) *element {
	if e, ok := elements.Load(t); ok {
		return e.(*element)
	}
	l := layout.Of(t)
	e := &element{word: word, size: l.Size, layout: l, plain: l.Plain()}
	switch {
	case l.Kind != "":
		e.err = &ElementTypeError{Type: t.String(), Field: l.Field, Kind: l.Kind}
	case l.Size > math.MaxInt32: // it does not fit into engine.Handle.Unit
		e.err, e.plain = &ElementTypeError{Type: t.String(), Kind: "type of 2 GiB or more"}, false
	default:
		e.typ = numberOf(l)
	}
	actual, _ := elements.LoadOrStore(t, e)
	return actual.(*element)
}

// numberOf returns the engine.Type of a layout. A layout that consists of one basic kind has the
// number of that kind, however often the kind repeats: [3]float64 agrees with float64.
func numberOf(l *layout.Layout) engine.Type {
	if kind, single := l.Single(); single {
		return kindTypes[kind]
	}
	return textNumber(l.Text())
}

// textNumber returns the engine.Type of the layout with this text.
func textNumber(text string) engine.Type {
	layouts.mu.Lock()
	defer layouts.mu.Unlock()
	t, ok := layouts.types[text]
	if !ok {
		t = layoutFirst + engine.Type(len(layouts.texts))
		layouts.types[text] = t
		layouts.texts = append(layouts.texts, text)
	}
	return t
}
