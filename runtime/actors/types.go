package actors

import (
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Codec is runtime.Codec: an error or a panic of Decode makes the message a dead letter.
type Codec[T any] = runtime.Codec[T]

// RegisterType allows values of type T and *T in messages between ranks, as their bytes if T
// is plain data (runtime.Element), else by gob, which refuses a value that contains itself; by the codec that runtime.RegisterCodec has
// registered for T, if there is one. It must be called at every rank, before the
// first such message, preferably in an init function; a second call has no effect. The name of
// the type, and for plain data its layout, must be the same at sender and receiver.
func RegisterType[T any]() { codec.Register[T]() }

// RegisterCodec is RegisterType with a codec of the program's own, and runtime.RegisterCodec. Later
// registrations of the same type have no effect.
func RegisterCodec[T any](c Codec[T]) {
	runtime.RegisterCodec(c)
	codec.RegisterCodec(c)
}

func init() { codec.RegisterMessage[*runtime.Message]() }
