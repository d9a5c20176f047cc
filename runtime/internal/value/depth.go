package value

import (
	"encoding"
	"encoding/gob"
	"fmt"
	"reflect"
	"sync"
)

// depthMax bounds the nesting of pointers, maps, slices and interfaces in a value. Go ends the process when a
// stack overflows, so what is deeper, or contains itself, is refused.
const depthMax = 10_000

// nested holds, by reflect.Type, whether values of the type can be nested without a bound.
var nested sync.Map

// tooDeep returns an error for a value that is nested too deeply.
func tooDeep(v reflect.Value) error {
	if !unbounded(v.Type(), nil) {
		return nil
	}
	return descend(v, 0)
}

// descend visits what gob would.
func descend(v reflect.Value, depth int) error {
	if depth > depthMax {
		return fmt.Errorf("%w: nested more than %d times, or it contains itself", ErrDepth, depthMax)
	}
	if !unbounded(v.Type(), nil) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return descend(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if err := descend(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := descend(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for e := v.MapRange(); e.Next(); {
			if err := descend(e.Value(), depth+1); err != nil {
				return err
			}
			if err := descend(e.Key(), depth+1); err != nil {
				return err
			}
		}
	default:
	}
	return nil
}

// own are the interfaces of types that encode themselves.
var own = []reflect.Type{
	reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
}

// unbounded reports whether a type contains an interface or one of the types above.
func unbounded(t reflect.Type, above []reflect.Type) bool {
	if known, ok := nested.Load(t); ok {
		return known.(bool)
	}
	for _, u := range above {
		if u == t {
			return true // not stored: t is stored further up
		}
	}
	for _, i := range own {
		if t.Implements(i) {
			return false
		}
	}
	result := false
	switch above = append(above, t); t.Kind() {
	case reflect.Interface:
		result = true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		result = unbounded(t.Elem(), above)
	case reflect.Map:
		result = unbounded(t.Key(), above) || unbounded(t.Elem(), above)
	case reflect.Struct:
		for i := 0; i < t.NumField() && !result; i++ {
			result = t.Field(i).IsExported() && unbounded(t.Field(i).Type, above)
		}
	default:
	}
	nested.Store(t, result)
	return result
}
