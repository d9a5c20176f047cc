package codec

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
)

// Numbers of types that need no definition. They are sent, so a number is never reused.
const (
	NumberBytes = 1 + iota
	NumberString
	NumberMessage
	NumberWatch      // the head's sender is the watcher
	NumberUnwatch    // as NumberWatch
	NumberTerminated // the head's sender is the actor that has ended, the body is one byte, the reason
	NumberStop
	NumberDefined = 16 // the first number that needs a definition
)

// TypesMax bounds the types of a process.
const TypesMax = 1024

// ErrUnregistered refuses a message whose type is not registered.
var ErrUnregistered = errors.New("type is not registered, see actors.RegisterType")

// errNil refuses a nil pointer to a registered type.
var errNil = errors.New("nil points to no value")

// Type describes how the values of one Go type are sent. T and *T are two types.
type Type struct {
	// Name identifies the type for all ranks. Layout must be equal on all ranks, too.
	Name, Layout string
	// Number is the number of the type that this process sends.
	Number uint32
	// View returns the bytes of a message in place, or nil if that is impossible. View is nil if
	// it is impossible for all messages of the type.
	View func(m any) []byte
	// Append appends the bytes of a message. Decode is its inverse, and nil if this process does
	// not have the type. b is valid during the call.
	Append func(b []byte, m any) ([]byte, error)
	Decode func(b []byte) (any, error)
	// Copied says that Decode only copies, so that it may be called under a lock.
	Copied bool
	// slab returns a Decode that allocates several values at once, for one goroutine at a time. It
	// is nil if there is none.
	slab func() func(b []byte) (any, error)
}

// types are the types of this process.
var types = struct {
	// mu guards the fields. It is taken for each new type, not for each message.
	mu     sync.Mutex
	byName map[string]*Type
	all    []*Type // by number - NumberDefined

	byType sync.Map // reflect.Type -> *Type
	// recent is a cache by typeWord.
	recent [256]atomic.Pointer[recentType]
}{byName: make(map[string]*Type)}

// recentType is an entry of types.recent.
type recentType struct {
	word uintptr
	t    *Type
}

// The types that need no definition.
var (
	Bytes = &Type{
		Number: NumberBytes, Copied: true,
		View:   func(m any) []byte { return m.([]byte) },
		Append: func(b []byte, m any) ([]byte, error) { return append(b, m.([]byte)...), nil },
		Decode: func(b []byte) (any, error) { return append(make([]byte, 0, len(b)), b...), nil },
	}
	String = &Type{
		Number: NumberString, Copied: true,
		View:   func(m any) []byte { return bytesOfString(m.(string)) },
		Append: func(b []byte, m any) ([]byte, error) { return append(b, m.(string)...), nil },
		Decode: func(b []byte) (any, error) { return string(b), nil },
	}
	// Message has no functions: its memory is handed over. RegisterMessage sets its Go
	// type.
	Message = &Type{Number: NumberMessage}
)

// RegisterMessage makes T the Go type of Message.
func RegisterMessage[T any]() { types.byType.Store(reflect.TypeFor[T](), Message) }

// add adds a type once. It returns nil if there are too many.
func add(t reflect.Type, c *Type) *Type {
	types.mu.Lock()
	defer types.mu.Unlock()
	if old, ok := types.byType.Load(t); ok {
		return old.(*Type)
	}
	if len(types.all) == TypesMax {
		return nil
	}
	c.Number = NumberDefined + uint32(len(types.all))
	types.all = append(types.all, c)
	types.byName[c.Name] = c
	types.byType.Store(t, c)
	return c
}

// Of returns the Type of a message, or nil if it is not registered.
func Of(m any) *Type {
	word := typeWord(m)
	slot := &types.recent[word>>5%256]
	if r := slot.Load(); r != nil && r.word == word {
		return r.t
	}
	if m == nil {
		return nil
	}
	t := reflect.TypeOf(m)
	known, ok := types.byType.Load(t)
	if !ok {
		p, isProto := m.(proto.Message)
		if !isProto {
			return nil
		}
		added := add(t, protoType(p))
		if added == nil {
			return nil
		}
		known = added
	}
	slot.Store(&recentType{word, known.(*Type)})
	return known.(*Type)
}
