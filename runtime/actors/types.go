package actors

import (
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Codec encodes and decodes the values of one type. Several goroutines may call its methods at the
// same time.
type Codec[T any] interface {
	// Append appends v to b.
	Append(b []byte, v *T) ([]byte, error)
	// Decode is the inverse of Append: it sets v. b is valid during the call, and may be
	// malformed. An error or a panic makes the message a dead letter.
	Decode(b []byte, v *T) error
}

// RegisterType allows values of type T and *T in messages between ranks, as their bytes if T
// is plain data (runtime.Element), else by gob. It must be called at every rank, before the
// first such message, preferably in an init function; a second call has no effect. The name of
// the type, and for plain data its layout, must be the same at sender and receiver.
func RegisterType[T any]() { codec.Register[T]() }

// RegisterCodec is RegisterType with a codec of the program's own. Later registrations of
// the same type have no effect.
func RegisterCodec[T any](c Codec[T]) { codec.RegisterCodec[T](c) }

func init() { codec.RegisterMessage[*runtime.Message]() }
