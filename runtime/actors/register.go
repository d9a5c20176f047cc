package actors

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/gorun-hpc/gorun/runtime"
)

// Types of messages that need no definition. The numbers travel: they only ever
// grow.
const (
	typeBytes = 1 + iota
	typeString
	typeMessage
	typeWatch      // the head's sender is the watcher
	typeUnwatch    // as typeWatch
	typeTerminated // the head's sender is who, the body is one byte, why
	typeStop
	typeDefined = 16 // the first that needs one
)

// typesMax bounds the types of a process.
const typesMax = 1024

// Codec turns the values of one type into bytes and back. Its methods are called
// by several goroutines at a time.
type Codec[T any] interface {
	// Append appends v to b.
	Append(b []byte, v *T) ([]byte, error)
	// Decode sets v to what Append made. b is valid during the call. It may be malformed:
	// an error, or a panic, makes the message a dead letter.
	Decode(b []byte, v *T) error
}

// Register allows values of type T and *T in messages between ranks, as their bytes if T is
// plain data (runtime.Element), else by gob. It must be called at every rank, before the
// first such message, best in an init function; calling it again changes nothing. Sender
// and receiver must agree on the name of the type, and for plain data on its layout.
func Register[T any]() {
	if runtime.Element[T]() == nil {
		registerPlain[T]()
		return
	}
	RegisterCodec[T](gobCodec[T]{})
}

// RegisterCodec is Register with a codec of the program's own. Later registrations of the
// same type have no effect.
func RegisterCodec[T any](c Codec[T]) {
	t := reflect.TypeFor[T]()
	register(t, &codec{
		name:   t.PkgPath() + "." + t.String(),
		append: func(b []byte, m any) ([]byte, error) { v := m.(T); return c.Append(b, &v) },
		decode: func(b []byte) (any, error) {
			var v T
			err := contained(func() error { return c.Decode(b, &v) })
			return v, err
		},
	})
	register(reflect.PointerTo(t), &codec{
		name: "*" + t.PkgPath() + "." + t.String(),
		append: func(b []byte, m any) ([]byte, error) {
			v := m.(*T)
			if v == nil {
				return b, errNil // a codec need not stand it: gob panics
			}
			return c.Append(b, v)
		},
		decode: func(b []byte) (any, error) {
			v := new(T)
			err := contained(func() error { return c.Decode(b, v) })
			return v, err
		},
	})
}

// contained makes an error of a panic of the program at what a peer has sent, outside
// of any actor: it makes a dead letter and is not the end of the rank.
func contained(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return fn()
}

// errNil refuses a nil pointer to a registered type.
var errNil = errors.New("nil points to no value")

// gobCodec is encoding/gob. Every message carries its type, for messages are
// independent of each other.
type gobCodec[T any] struct{}

// Append implements Codec.
func (gobCodec[T]) Append(b []byte, v *T) ([]byte, error) {
	w := bytes.NewBuffer(b)
	err := gob.NewEncoder(w).Encode(v)
	return w.Bytes(), err
}

// Decode implements Codec.
func (gobCodec[T]) Decode(b []byte, v *T) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

// codec is how one Go type travels. T and *T are two.
type codec struct {
	// name is what ranks know it by, layout what they must agree on besides.
	name, layout string
	// number is the type on the wire, in terms of this process.
	number uint32
	// view returns the bytes of a message in place; nil if it has none.
	view func(m any) []byte
	// append appends what travels. decode is its inverse; b is valid during the
	// call. quick says that decode is a copy, which may be done under a lock.
	append func(b []byte, m any) ([]byte, error)
	decode func(b []byte) (any, error)
	quick  bool
	// slab returns a decode for one goroutine at a time that allocates for several
	// values at once. nil if there is none.
	slab func() func(b []byte) (any, error)
}

// codecs are the types of this process.
var codecs = struct {
	// mu guards the fields; it is taken when a type is new, never per message.
	mu     sync.Mutex
	byName map[string]*codec
	all    []*codec // by number - typeDefined

	byType sync.Map // reflect.Type -> *codec
	// recent answers for most messages, by the address of their type.
	recent [256]atomic.Pointer[recentCodec]
}{byName: make(map[string]*codec)}

// recentCodec is an entry of codecs.recent.
type recentCodec struct {
	word  uintptr
	codec *codec
}

// The codecs of types that need no definition.
var (
	codecBytes = &codec{
		number: typeBytes, quick: true,
		view:   func(m any) []byte { return m.([]byte) },
		append: func(b []byte, m any) ([]byte, error) { return append(b, m.([]byte)...), nil },
		decode: func(b []byte) (any, error) { return append(make([]byte, 0, len(b)), b...), nil },
	}
	codecString = &codec{
		number: typeString, quick: true,
		view:   func(m any) []byte { return bytesOfString(m.(string)) },
		append: func(b []byte, m any) ([]byte, error) { return append(b, m.(string)...), nil },
		decode: func(b []byte) (any, error) { return string(b), nil },
	}
	// codecMessage has no functions: its memory changes hands.
	codecMessage = &codec{number: typeMessage, quick: true}
)

func init() {
	codecs.byType.Store(reflect.TypeFor[[]byte](), codecBytes)
	codecs.byType.Store(reflect.TypeFor[string](), codecString)
	codecs.byType.Store(reflect.TypeFor[*runtime.Message](), codecMessage)
	Register[bool]()
	Register[int]()
	Register[int32]()
	Register[int64]()
	Register[uint]()
	Register[uint32]()
	Register[uint64]()
	Register[float32]()
	Register[float64]()
}

// register is add for types of the program, for which there is room.
func register(t reflect.Type, c *codec) {
	if add(t, c) == nil {
		panic(fmt.Sprintf("actors: more than %d types", typesMax))
	}
}

// add makes a type known, once. It returns nil if there are too many.
func add(t reflect.Type, c *codec) *codec {
	codecs.mu.Lock()
	defer codecs.mu.Unlock()
	if old, ok := codecs.byType.Load(t); ok {
		return old.(*codec)
	}
	if len(codecs.all) == typesMax {
		return nil
	}
	c.number = typeDefined + uint32(len(codecs.all))
	codecs.all = append(codecs.all, c)
	codecs.byName[c.name] = c
	codecs.byType.Store(t, c)
	return c
}

// lookup returns the codec of a type that a peer defines; one that cannot decode
// if it is not registered here, or differs.
func lookup(name, layout string) *codec {
	codecs.mu.Lock()
	c := codecs.byName[name]
	codecs.mu.Unlock()
	if c == nil && strings.HasPrefix(name, protoPrefix) {
		t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name[len(protoPrefix):]))
		if err == nil {
			m := t.New().Interface()
			c = add(reflect.TypeOf(m), protoCodec(m))
		}
	}
	switch {
	case c == nil:
		return &codec{name: name + " is not known to the receiver"}
	case c.layout != layout:
		return &codec{name: name + " has another layout at the receiver: " + c.layout + " there, " + layout + " at the sender"}
	}
	return c
}

// codecOf returns how a message travels, or nil.
func codecOf(m any) *codec {
	word := typeWord(m)
	slot := &codecs.recent[word>>5%256]
	if r := slot.Load(); r != nil && r.word == word {
		return r.codec
	}
	if m == nil {
		return nil
	}
	t := reflect.TypeOf(m)
	known, ok := codecs.byType.Load(t)
	if !ok {
		p, isProto := m.(proto.Message)
		if !isProto {
			return nil
		}
		added := add(t, protoCodec(p))
		if added == nil {
			return nil
		}
		known = added
	}
	slot.Store(&recentCodec{word, known.(*codec)})
	return known.(*codec)
}

// protoPrefix begins the names of protobuf messages.
const protoPrefix = "proto:"

// protoCodec is the codec of protobuf messages of the type of m.
func protoCodec(m proto.Message) *codec {
	t := m.ProtoReflect().Type()
	return &codec{
		name: protoPrefix + string(t.Descriptor().FullName()),
		append: func(b []byte, m any) ([]byte, error) {
			return proto.MarshalOptions{}.MarshalAppend(b, m.(proto.Message))
		},
		decode: func(b []byte) (any, error) {
			v := t.New().Interface()
			return v, contained(func() error { return proto.Unmarshal(b, v) })
		},
	}
}
