package actors

import (
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Codec turns the values of one type into bytes and back. Its methods are called
// by several goroutines at a time.
type Codec[T any] interface {
	// Append appends v to b.
	Append(b []byte, v *T) ([]byte, error)
	// Decode sets v to what Append made. b is valid during the call. It may be malformed:
	// an error, or a panic, makes the message a dead letter.
	Decode(b []byte, v *T) error
}

// RegisterType allows values of type T and *T in messages between ranks, as their bytes if T
// is plain data (runtime.Element), else by gob. It must be called at every rank, before the
// first such message, best in an init function; calling it again changes nothing. Sender
// and receiver must agree on the name of the type, and for plain data on its layout.
func RegisterType[T any]() { codec.Register[T]() }

// RegisterCodec is RegisterType with a codec of the program's own. Later registrations of
// the same type have no effect.
func RegisterCodec[T any](c Codec[T]) { codec.RegisterCodec[T](c) }

func init() { codec.RegisterMessage[*runtime.Message]() }
