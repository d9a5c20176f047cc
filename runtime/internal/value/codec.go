package value

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// Codec encodes and decodes the values of a type. It is runtime.Codec.
type Codec[T any] interface {
	Append(b []byte, v *T) ([]byte, error)
	Decode(b []byte, v *T) error
}

// Gob is the codec that uses encoding/gob. Every encoded value contains the description of its
// type, so that the receiver can decode it without the earlier values.
type Gob[T any] struct{}

// Append implements Codec. If gob panics, Append returns an error.
func (Gob[T]) Append(b []byte, v *T) (whole []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			whole, err = b, fmt.Errorf("gob: panic: %v", r)
		}
	}()
	w := bytes.NewBuffer(b)
	var encoded any = v
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Interface:
		encoded = &box[T]{*v}
	case reflect.Pointer:
		encoded = *v // for a pointer to a type that encodes itself, such as *big.Int: gob panics on a **big.Int
	default:
	}
	if err := tooDeep(reflect.ValueOf(v)); err != nil {
		return b, err
	}
	for p := reflect.ValueOf(encoded); p.Kind() == reflect.Pointer; p = p.Elem() {
		if p.IsNil() { // gob panics, or sends nothing for the value
			return b, fmt.Errorf("a pointer to a nil %v", p.Type())
		}
	}
	err = gob.NewEncoder(w).Encode(encoded)
	return w.Bytes(), err
}

// Decode implements Codec.
func (Gob[T]) Decode(b []byte, v *T) error {
	r := bytes.NewReader(b)
	d := gob.NewDecoder(r)
	if boxed[T]() {
		var x box[T]
		if err := d.Decode(&x); err != nil {
			return foreseen(err)
		}
		*v = x.V
	} else if err := d.Decode(v); err != nil {
		return foreseen(err)
	}
	if s := reflect.ValueOf(v).Elem(); s.Kind() == reflect.Slice && s.IsNil() {
		s.Set(reflect.MakeSlice(s.Type(), 0, 0)) // the value was an empty slice; a nil slice is sent as formNil
	}
	if r.Len() > 0 {
		return fmt.Errorf("%w: %d bytes after the value", ErrMalformed, r.Len())
	}
	return nil
}

// foreseen replaces the error of gob for a premature end of the bytes by ErrMalformed. It returns
// any other error unchanged.
func foreseen(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // gob returns them as they are
		return fmt.Errorf("%w: the bytes end within the value", ErrMalformed)
	}
	return err
}

// box holds a value of an interface type in a field, because gob encodes the dynamic type of an
// interface value only in a field.
type box[T any] struct{ V T }

// boxed reports whether Gob encodes values of T in a box.
func boxed[T any]() bool { return reflect.TypeFor[T]().Kind() == reflect.Interface }

// JSON is the codec that uses encoding/json.
type JSON[T any] struct{}

// Append implements Codec.
func (JSON[T]) Append(b []byte, v *T) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(b, text...), err
}

// Decode implements Codec.
func (JSON[T]) Decode(b []byte, v *T) error { return json.Unmarshal(b, v) }
