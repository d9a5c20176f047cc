package runtime

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Element returns nil if values of type T can be sent in messages, else an ElementTypeError
// that names the field in the way.
func Element[T any]() error { return elementOf[T]().err }

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
	// holes are the byte ranges of one value that hold padding; nil for most.
	holes []hole
	// err is why the type cannot travel, or nil.
	err error
	// plain says that err and holes are nil: the bytes travel as they are.
	plain bool
}

// hole is a range of padding within a value.
type hole struct{ from, to int }

// pack returns a copy of the values in b whose padding is zero.
func (e *element) pack(b []byte) []byte {
	packed := make([]byte, len(b))
	copy(packed, b)
	for at := 0; at+e.size <= len(packed) && e.size > 0; at += e.size {
		for _, h := range e.holes {
			clear(packed[at+h.from : at+h.to])
		}
	}
	return packed
}

// layoutFirst is the first engine.Type of composite layouts: numbers below 64
// are those of basic kinds.
const layoutFirst = 64

// layoutTextMax bounds a layout's text, which travels to every peer once. Longer
// ones are cut and end with a hash of the whole.
const layoutTextMax = 512

// kindTypes numbers the basic kinds. The numbers travel: they only ever grow.
// Types of one layout share a number. Bytes are 0, which matches anything.
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
	e := &element{word: word, size: int(t.Size())}
	var w layoutWalk
	if w.walk(t, 0, ""); w.kind != "" {
		e.err = &ElementTypeError{Type: t.String(), Field: w.field, Kind: w.kind}
	} else {
		w.pad(e.size)
		e.typ, e.holes = w.number(), w.holes
	}
	e.plain = e.err == nil && e.holes == nil
	actual, _ := elements.LoadOrStore(t, e)
	return actual.(*element)
}

// layoutWalk flattens a type into runs of basic kinds.
type layoutWalk struct {
	runs  []layoutRun
	holes []hole
	at    int    // end of what was seen so far
	field string // path of the field that cannot travel
	kind  string // its kind, "" as long as all can
}

// layoutRun is a kind several times in a row. reflect.Invalid is padding, counted
// in bytes.
type layoutRun struct {
	kind reflect.Kind
	n    int
}

// walk adds a value of type t at byte offset at.
func (w *layoutWalk) walk(t reflect.Type, at int, path string) {
	switch kind := canonicalKind(t.Kind()); kind {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				w.blank(f.Type, join(path, f.Name)) // padding that was written out
			} else {
				w.walk(f.Type, at+int(f.Offset), join(path, f.Name))
			}
			if w.kind != "" {
				return
			}
		}
	case reflect.Array:
		w.array(t, at, path)
	default:
		if _, ok := kindTypes[kind]; !ok {
			w.field, w.kind = path, kindName(kind)
			return
		}
		w.pad(at)
		w.add(kind, 1)
		w.at = at + int(t.Size())
	}
}

// array adds an array, without visiting each element of a simple one.
func (w *layoutWalk) array(t reflect.Type, at int, path string) {
	elem := t.Elem()
	kind := canonicalKind(elem.Kind())
	if _, basic := kindTypes[kind]; basic {
		if t.Len() > 0 {
			w.pad(at)
			w.add(kind, t.Len())
			w.at = at + int(t.Size())
		}
		return
	}
	if t.Len() == 0 {
		w.blank(elem, path+"[]")
		return
	}
	for i := range t.Len() {
		if w.walk(elem, at+i*int(elem.Size()), path+"[]"); w.kind != "" {
			return
		}
		w.pad(at + (i+1)*int(elem.Size()))
	}
}

// blank examines a type that adds nothing to the layout.
func (w *layoutWalk) blank(t reflect.Type, path string) {
	var apart layoutWalk
	apart.walk(t, 0, path)
	w.field, w.kind = apart.field, apart.kind
}

// add appends n values of a kind.
func (w *layoutWalk) add(kind reflect.Kind, n int) {
	if last := len(w.runs) - 1; last >= 0 && w.runs[last].kind == kind {
		w.runs[last].n += n
		return
	}
	w.runs = append(w.runs, layoutRun{kind, n})
}

// pad fills up to the offset end with padding.
func (w *layoutWalk) pad(end int) {
	if end <= w.at {
		return
	}
	w.holes = append(w.holes, hole{w.at, end})
	w.add(reflect.Invalid, end-w.at)
	w.at = end
}

// number returns the engine.Type of the layout. One kind in a row has the number
// of the kind, so that [3]float64 and float64 agree.
func (w *layoutWalk) number() engine.Type {
	if len(w.runs) == 0 {
		return 0
	}
	if len(w.runs) == 1 {
		return kindTypes[w.runs[0].kind]
	}
	text := w.text()
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

// text spells the layout: "{int64 float32*3 _4}" is an int64, three float32 and
// four bytes of padding.
func (w *layoutWalk) text() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, r := range w.runs {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case r.kind == reflect.Invalid:
			fmt.Fprintf(&b, "_%d", r.n)
		case r.n == 1:
			b.WriteString(r.kind.String())
		default:
			fmt.Fprintf(&b, "%v*%d", r.kind, r.n)
		}
	}
	b.WriteByte('}')
	text := b.String()
	if len(text) <= layoutTextMax {
		return text
	}
	sum := fnv.New128a()
	sum.Write([]byte(text))
	return fmt.Sprintf("%s...%x", text[:layoutTextMax-40], sum.Sum(nil))
}

// canonicalKind makes kinds of equal layout equal.
func canonicalKind(k reflect.Kind) reflect.Kind {
	switch {
	case k == reflect.Int && strconv.IntSize == 64:
		return reflect.Int64
	case k == reflect.Int:
		return reflect.Int32
	case (k == reflect.Uint || k == reflect.Uintptr) && strconv.IntSize == 64:
		return reflect.Uint64
	case k == reflect.Uint || k == reflect.Uintptr:
		return reflect.Uint32
	}
	return k
}

// kindName is the kind in words.
func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Pointer, reflect.UnsafePointer:
		return "pointer"
	case reflect.Func:
		return "function"
	case reflect.Chan:
		return "channel"
	default:
		return k.String()
	}
}

// join appends a field name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
