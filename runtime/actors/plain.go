package actors

import (
	"fmt"
	"hash/fnv"
	"reflect"
)

// registerPlain is Register for plain data.
func registerPlain[T any]() {
	t := reflect.TypeFor[T]()
	size := int(t.Size())
	gaps := gapsOf(t, 0, nil)
	layout := layoutOf(t)
	c := &codec{
		name: t.PkgPath() + "." + t.String(), layout: layout, quick: true,
		append: func(b []byte, m any) ([]byte, error) {
			v := m.(T)
			return appendPlain(b, bytesOf(&v), gaps), nil
		},
		decode: func(b []byte) (any, error) {
			var v T
			if err := fitting(b, size); err != nil {
				return nil, err
			}
			copy(bytesOf(&v), b)
			return v, nil
		},
	}
	p := &codec{
		name: "*" + c.name, layout: layout, quick: true,
		append: func(b []byte, m any) ([]byte, error) {
			v := m.(*T)
			if v == nil {
				return b, errNil
			}
			return appendPlain(b, bytesOf(v), gaps), nil
		},
		decode: func(b []byte) (any, error) {
			if err := fitting(b, size); err != nil {
				return nil, err
			}
			v := new(T)
			copy(bytesOf(v), b)
			return v, nil
		},
	}
	if size > 0 && size <= slabBytes/2 {
		p.slab = func() func(b []byte) (any, error) {
			var free []T
			return func(b []byte) (any, error) {
				if err := fitting(b, size); err != nil {
					return nil, err
				}
				if len(free) == 0 {
					free = make([]T, slabBytes/size)
				}
				v := &free[0]
				free = free[1:]
				copy(bytesOf(v), b)
				return v, nil
			}
		}
	}
	if len(gaps) == 0 && size > 0 {
		c.view = func(m any) []byte { return bytesIn(m, size) }
		p.view = func(m any) []byte {
			if v := m.(*T); v != nil {
				return bytesOf(v)
			}
			return nil
		}
	}
	register(t, c)
	register(reflect.PointerTo(t), p)
}

// slabBytes is the memory that values of a short type share: who keeps one of them
// keeps so much, at most.
const slabBytes = 512

// fitting returns an error if b is not the bytes of a value.
func fitting(b []byte, size int) error {
	if len(b) != size {
		return fmt.Errorf("%w: %d bytes for a value of %d", errWire, len(b), size)
	}
	return nil
}

// gap is a range of padding.
type gap struct{ from, to int }

// appendPlain appends the bytes of a value, its padding as zeros.
func appendPlain(b, v []byte, gaps []gap) []byte {
	at := len(b)
	b = append(b, v...)
	for _, g := range gaps {
		clear(b[at+g.from : at+g.to])
	}
	return b
}

// gapsOf appends the padding of a type that begins at offset at.
func gapsOf(t reflect.Type, at int, gaps []gap) []gap {
	switch t.Kind() {
	case reflect.Struct:
		end := at
		for i := range t.NumField() {
			f := t.Field(i)
			from := at + int(f.Offset)
			if f.Name == "_" {
				continue // padding that was written out
			}
			if from > end {
				gaps = append(gaps, gap{end, from})
			}
			gaps = gapsOf(f.Type, from, gaps)
			end = from + int(f.Type.Size())
		}
		if all := at + int(t.Size()); all > end {
			gaps = append(gaps, gap{end, all})
		}
	case reflect.Array:
		if len(gapsOf(t.Elem(), 0, nil)) == 0 {
			return gaps
		}
		for i := range t.Len() {
			gaps = gapsOf(t.Elem(), at+i*int(t.Elem().Size()), gaps)
		}
	default:
	}
	return gaps
}

// layoutOf is a short text that two ranks must agree on: the size and a hash of
// kinds and offsets.
func layoutOf(t reflect.Type) string {
	h := fnv.New64a()
	var walk func(t reflect.Type, at int)
	walk = func(t reflect.Type, at int) {
		switch t.Kind() {
		case reflect.Struct:
			for i := range t.NumField() {
				walk(t.Field(i).Type, at+int(t.Field(i).Offset))
			}
		case reflect.Array:
			_, _ = fmt.Fprintf(h, "%d*", t.Len()) // a hash takes everything
			walk(t.Elem(), at)
		default:
			_, _ = fmt.Fprintf(h, "%d %v %d;", at, t.Kind(), t.Size())
		}
	}
	walk(t, 0)
	return fmt.Sprintf("%d bytes, %016x", t.Size(), h.Sum64())
}
