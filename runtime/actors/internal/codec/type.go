package codec

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
)

// Numbers of the types that need no definition. The numbers are part of the wire format. Therefore
// the number of a removed type is never assigned again.
const (
	NumberBytes = 1 + iota
	NumberString
	NumberMessage
	NumberWatch      // the head's sender is the watcher
	NumberUnwatch    // the head's sender is the watcher
	NumberTerminated // the head's sender is the actor that has ended; the body is one byte, the reason
	NumberStop
	NumberDefined = 16 // the first number that needs a definition
)

// TypesMax is the maximum number of types of a process that need a definition.
const TypesMax = 1024

// ErrUnregistered is the error of a message whose type is not registered.
var ErrUnregistered = errors.New("type is not registered, see actors.RegisterType")

// errNil is the error of a message that is a nil pointer to a registered type.
var errNil = errors.New("a nil pointer cannot be sent as a message")

// Type describes how the values of one Go type are encoded and decoded. T and *T are two types.
type Type struct {
	// Name identifies the type for all ranks. Layout must be equal on all ranks, too.
	Name, Layout string
	// Number is the number by which this process names the type in messages.
	Number uint32
	// View returns the memory of a message as its encoding, without a copy. It returns nil if the
	// encoding of this message differs from its memory. The field View is nil if the encoding
	// differs for all messages of the type.
	View func(m any) []byte
	// Append appends the encoding of a message to b. Decode is the inverse of Append; the argument b of
	// Decode is valid only during the call. Decode is nil if this process does not have the type.
	Append func(b []byte, m any) ([]byte, error)
	Decode func(b []byte) (any, error)
	// Copied reports whether Decode only copies bytes and runs no code of the program, so that it
	// may be called under a lock. It is false for an actor.MessageBatch, of which the receiver also gets the parts.
	Copied bool
	// Size is the length of the encoding if it is the same for all values, because their bytes are sent;
	// otherwise 0.
	Size int
	// slab returns a function like Decode that allocates several values at once. One goroutine at a
	// time may call that function. slab is nil if the type has no such function.
	slab func() func(b []byte) (any, error)
}

// types are the types of this process.
var types = struct {
	// mu guards byName and all. It is taken for each new type, not for each message.
	mu     sync.Mutex
	byName map[string]*Type
	all    []*Type // by number - NumberDefined

	// byType has the keys reflect.Type and, for protobuf messages whose Go type serves for several
	// types, protoreflect.FullName.
	byType sync.Map // any -> *Type
	// recent is a direct-mapped cache of byType, indexed by bits of typeWord.
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
	// Message is the type of messages whose memory is handed over. Its functions are nil, because no
	// bytes are encoded. RegisterMessage sets its Go type.
	Message = &Type{Number: NumberMessage}
)

// RegisterMessage makes T the Go type of Message.
func RegisterMessage[T any]() { types.byType.Store(reflect.TypeFor[T](), Message) }

// add assigns a number to c, enters it in byType with a key, and returns c. If the key has a Type already, add
// returns that Type. It returns nil if the process has TypesMax types. It panics if another registered type has the
// same name, because messages of one type would arrive as values of the other. A protobuf message may have several
// Go types. It then arrives as a value of the generated Go type, if there is one. The parameter generated is true if c
// is the Type of the generated Go type.
func add(key any, c *Type, generated bool) *Type {
	types.mu.Lock()
	defer types.mu.Unlock()
	if old, ok := types.byType.Load(key); ok {
		return old.(*Type)
	}
	taken := types.byName[c.Name] != nil
	if taken && !strings.HasPrefix(c.Name, protoPrefix) {
		panic(fmt.Sprintf("actors: another registered type has the name %s, too. "+
			"Declare each of them as a type of a package, not in a function", c.Name))
	}
	if len(types.all) == TypesMax {
		return nil
	}
	c.Number = NumberDefined + uint32(len(types.all))
	types.all = append(types.all, c)
	if !taken || generated {
		types.byName[c.Name] = c
	}
	types.byType.Store(key, c)
	return c
}

// Of returns the Type of a message, or nil if its Go type is not registered. It registers a type
// of protobuf messages at its first use.
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
		added, single := protoOf(p)
		if added == nil || !single {
			return added
		}
		known = added
	}
	slot.Store(&recentType{word, known.(*Type)})
	return known.(*Type)
}
