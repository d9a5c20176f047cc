package actors

import (
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// Codec is runtime.Codec. An error or a panic of Decode makes the message a dead letter, and so does an error
// of Append. A panic of Append is a panic of the sending goroutine. But if the message has waited in an outbox, or if a
// router has forwarded it for another rank or to several receivers, the panic makes the message a dead letter, too. So
// does a panic of Append for a result of PipeTo.
type Codec[T any] = runtime.Codec[T]

// RegisterType allows values of the types T and *T as messages between ranks. If
// runtime.RegisterCodec has registered a codec for T, this codec encodes the values. Without a
// registered codec, the values are sent as their bytes if T is plain data (runtime.Element); values
// of all other types are encoded by gob. gob cannot encode a value that contains itself, so such a
// value is refused. RegisterType must be called at every rank before the first such message,
// preferably in an init function. A second call has no effect. The name of the type, and for plain
// data its layout, must be the same at sender and receiver. RegisterType panics if another type with the
// same name is registered. Types of packages have unique names, because the names contain the path of the
// package; types that are declared in functions can have the same name. RegisterType also panics if T is an
// interface, and if the process has more than 1024 types of messages; T and *T are two types.
func RegisterType[T any]() { codec.Register[T]() }

// RegisterCodec registers T and *T like RegisterType, but with the codec c of the program. It also calls
// runtime.RegisterCodec. Later registrations of the same type have no effect.
func RegisterCodec[T any](c Codec[T]) {
	runtime.RegisterCodec(c)
	codec.RegisterCodec(c)
}

func init() { codec.RegisterMessage[*runtime.Message]() }
