package value

import (
	"encoding"
	"encoding/gob"
	"fmt"
	"reflect"
	"sync"
)

// depthMax is the largest depth to which pointers, maps, slices, arrays, structs and interfaces in a
// value may be nested. A value that is nested more deeply, or that contains itself, is refused. Otherwise
// the recursion of gob could overflow the stack, and Go would end the process.
const depthMax = 10_000

// nested caches the results of the function unbounded. The keys have the type reflect.Type.
var nested sync.Map

// tooDeep returns ErrDepth for a value that is nested more deeply than depthMax. Otherwise it returns
// nil.
func tooDeep(v reflect.Value) error {
	if !unbounded(v.Type(), nil) {
		return nil
	}
	return descend(v, 0)
}

// descend visits the parts of a value that gob would encode. depth is the depth of v. It does not
// visit values whose type limits their depth.
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

// own lists the interfaces of types with an encoding of their own. Gob does not visit the parts of a
// value of such a type. encoding.TextMarshaler is not among them, because gob does not use it.
var own = []reflect.Type{reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler]()}

// addressable reports whether gob also uses the methods of *t when it encodes a part, of type t, of a value.
func addressable(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface
}

// unbounded reports whether values of a type can be nested without a bound. They can if gob visits, in a value of the
// type, an interface or a value of a type that contains itself. The argument above holds the types that contain t.
func unbounded(t reflect.Type, above []reflect.Type) bool {
	if known, ok := nested.Load(t); ok {
		return known.(bool)
	}
	for _, u := range above {
		if u == t {
			return true // do not store the result: the call for the outer t stores its own
		}
	}
	for _, i := range own {
		if t.Implements(i) || addressable(t) && reflect.PointerTo(t).Implements(i) {
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
