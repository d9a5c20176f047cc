package layout

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strconv"
	"strings"
)

// textMax is the largest length in bytes of the text of a layout. The text is sent once to each peer that gets
// messages with this layout. A longer text is cut and ends with a hash of the whole text.
const textMax = 512

// Layout describes the memory of a value of one type.
type Layout struct {
	// Size is the size of a value in bytes.
	Size int
	// Holes are the byte ranges that hold padding; nil for most types.
	Holes []Hole
	// Kind is "" if the type has no pointers. Otherwise Kind names the kind of the first field with
	// a pointer ("pointer", "string", "slice"). Field is the path of that field, or "" if the value
	// itself has that kind. If Kind is not "", Holes is nil, and the text is "{}".
	Field, Kind string

	runs []run
}

// Hole is a range of padding within a value: the bytes from offset From up to, but not including,
// offset To.
type Hole struct{ From, To int }

// run is a sequence of n numbers of the same kind. The kind reflect.Invalid means n bytes of
// padding.
type run struct {
	kind reflect.Kind
	n    int
}

// Of returns the layout of a type.
func Of(t reflect.Type) *Layout {
	w := walk{Layout: Layout{Size: int(t.Size())}}
	if w.value(t, 0, ""); w.Kind == "" {
		w.pad(w.Size)
	} else {
		w.Holes, w.runs = nil, nil
	}
	return &w.Layout
}

// Plain reports whether the type has neither pointers nor padding: every byte of a value belongs to a
// number or a bool.
func (l *Layout) Plain() bool { return l.Kind == "" && l.Holes == nil }

// Single returns the kind of number that the layout consists of, for example float64 for
// [3]float64, and true. It returns reflect.Invalid and true if there is only padding or nothing at
// all, and also for a type with pointers. It returns false if the layout has several kinds, or numbers
// and padding.
func (l *Layout) Single() (reflect.Kind, bool) {
	switch len(l.runs) {
	case 0:
		return reflect.Invalid, true
	case 1:
		return l.runs[0].kind, true
	}
	return reflect.Invalid, false
}

// ClearHoles zeroes the padding of the consecutive values in b, so that no other memory contents
// are sent. It ignores an incomplete value at the end.
func (l *Layout) ClearHoles(b []byte) {
	if len(l.Holes) == 0 {
		return
	}
	for ; len(b) >= l.Size; b = b[l.Size:] {
		for _, h := range l.Holes {
			clear(b[h.From:h.To])
		}
	}
}

// Text returns a text of the layout. For example, "{int64 float32*3 _4}" is an int64, three
// float32 and four bytes of padding. If two types without pointers have equal texts, they have
// equal layouts.
func (l *Layout) Text() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, r := range l.runs {
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
	if len(text) <= textMax {
		return text
	}
	sum := fnv.New128a()
	sum.Write([]byte(text))
	return fmt.Sprintf("%s...%x", text[:textMax-40], sum.Sum(nil))
}

// walk visits the fields of a type and builds its runs.
type walk struct {
	Layout
	at int // byte offset up to which runs are complete
}

// value adds a value of type t at byte offset at to the layout. path is the path of its field.
func (w *walk) value(t reflect.Type, at int, path string) {
	switch kind := canonical(t.Kind()); {
	case kind == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				w.blank(f.Type, join(path, f.Name)) // a blank field is padding
			} else {
				w.value(f.Type, at+int(f.Offset), join(path, f.Name))
			}
			if w.Kind != "" {
				return
			}
		}
	case kind == reflect.Array:
		w.array(t, at, path)
	case !basic(kind):
		w.Field, w.Kind = path, kindName(kind)
	default:
		w.pad(at)
		w.add(kind, 1)
		w.at = at + int(t.Size())
	}
}

// array adds an array at byte offset at. It adds an array of numbers as one run, without visiting
// each element.
func (w *walk) array(t reflect.Type, at int, path string) {
	elem := t.Elem()
	if kind := canonical(elem.Kind()); basic(kind) {
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
		if w.value(elem, at+i*int(elem.Size()), path+"[]"); w.Kind != "" {
			return
		}
		w.pad(at + (i+1)*int(elem.Size()))
	}
}

// blank checks the type of a blank field, or of the elements of an empty array, for pointers. It
// adds nothing to the layout.
func (w *walk) blank(t reflect.Type, path string) {
	var apart walk
	apart.value(t, 0, path)
	w.Field, w.Kind = apart.Field, apart.Kind
}

// add appends n numbers of a kind, or n bytes of padding for reflect.Invalid.
func (w *walk) add(kind reflect.Kind, n int) {
	if last := len(w.runs) - 1; last >= 0 && w.runs[last].kind == kind {
		w.runs[last].n += n
		return
	}
	w.runs = append(w.runs, run{kind, n})
}

// pad adds padding from w.at up to offset end, if there is a gap.
func (w *walk) pad(end int) {
	if end <= w.at {
		return
	}
	w.Holes = append(w.Holes, Hole{w.at, end})
	w.add(reflect.Invalid, end-w.at)
	w.at = end
}

// basic reports whether values of a canonical kind are numbers or bool.
func basic(k reflect.Kind) bool { return k >= reflect.Bool && k <= reflect.Complex128 }

// canonical maps kinds with the same layout to one of them: int, uint and uintptr to the kind of
// their size, such as int64 or uint64.
func canonical(k reflect.Kind) reflect.Kind {
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

// kindName returns a word for a kind, for errors.
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

// join appends the name of a field to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
