package runtime

import (
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/layout"
)

// CountOf returns how many whole elements of type T are in the message that s
// describes; 0 for types of no size.
func CountOf[T any](s Status) int { return count(s.Bytes, elementOf[T]().size) }

// element is what messages need to know of a Go type.
type element struct {
	// word identifies the Go type, see elementOf.
	word uintptr
	// typ is the number under which the engine compares the layout.
	typ engine.Type
	// size is the size of one value in bytes.
	size int
	// layout has the padding.
	layout *layout.Layout
	// err is why the type cannot be sent, or nil.
	err error
	// plain says that err is nil and there is no padding: the bytes are sent as they are.
	plain bool
}

// pack returns a copy of the values in b whose padding is zero.
func (e *element) pack(b []byte) []byte {
	packed := append(make([]byte, 0, len(b)), b...)
	e.layout.ClearHoles(packed)
	return packed
}

// layoutFirst is the first engine.Type of composite layouts: numbers below 64
// are those of basic kinds.
const layoutFirst = 64

// kindTypes numbers the basic kinds. The numbers are part of the wire format: they never
// change, new kinds get new ones. Types of one layout share a number. Bytes are 0, which
// matches anything.
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

// layouts numbers the composite layouts of this process.
var layouts = struct {
	// mu guards the fields; it is taken once per Go type, never per message.
	mu    sync.Mutex
	types map[string]engine.Type // by text
	texts []string               // by number - layoutFirst
}{types: make(map[string]engine.Type)}

// elements holds every element made so far by its reflect.Type. elementRecent in
// front of it answers in a few nanoseconds.
var (
	elements      sync.Map // reflect.Type -> *element
	elementRecent [elementRecentSize]atomic.Pointer[element]
)

// typeName returns the text of a layout number of this process.
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

// makeElement examines a type, once per process.
func makeElement(t reflect.Type, word uintptr) *element {
	if e, ok := elements.Load(t); ok {
		return e.(*element)
	}
	l := layout.Of(t)
	e := &element{word: word, size: l.Size, layout: l, plain: l.Plain()}
	if l.Kind != "" {
		e.err = &ElementTypeError{Type: t.String(), Field: l.Field, Kind: l.Kind}
	} else {
		e.typ = numberOf(l)
	}
	actual, _ := elements.LoadOrStore(t, e)
	return actual.(*element)
}

// numberOf returns the engine.Type of a layout. A layout of one kind only has the
// number of the kind, however often it repeats: [3]float64 agrees with float64.
func numberOf(l *layout.Layout) engine.Type {
	if kind, single := l.Single(); single {
		return kindTypes[kind]
	}
	text := l.Text()
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
