package codec

import (
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoimpl"
)

// protoPrefix is the prefix of Type.Name for types of protobuf messages.
const protoPrefix = "proto:"

// protoType returns a new Type for protobuf messages of a type.
func protoType(t protoreflect.MessageType) *Type {
	return &Type{
		Name: protoPrefix + string(t.Descriptor().FullName()),
		Append: func(b []byte, m any) ([]byte, error) {
			return proto.MarshalOptions{}.MarshalAppend(b, m.(proto.Message))
		},
		Decode: func(b []byte) (any, error) {
			v := t.New().Interface()
			return v, Contained(func() error { return proto.Unmarshal(b, v) })
		},
	}
}

// protoOf returns the Type of a protobuf message whose Go type is not in byType, or nil if there are too many
// types. single is false if the Go type serves for several types of messages, as that of dynamicpb does. These
// types are distinguished by their names.
func protoOf(m proto.Message) (c *Type, single bool) {
	var key any = reflect.TypeOf(m)
	t := m.ProtoReflect().Type()
	if _, single = t.(*protoimpl.MessageInfo); !single { // the type of generated messages
		key = t.Descriptor().FullName()
		if known, ok := types.byType.Load(key); ok {
			return known.(*Type), false
		}
	}
	return add(key, protoType(t), single), single
}

// find returns the type that a peer defines by a name and a layout. If the type is not registered in
// this process, or its layout differs, Decode of the result is nil, and its Name is the text of the
// reason. A protobuf type is registered by the first definition that names it.
func find(name, layout string) *Type {
	types.mu.Lock()
	c := types.byName[name]
	types.mu.Unlock()
	if c == nil && strings.HasPrefix(name, protoPrefix) {
		t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name[len(protoPrefix):]))
		if err == nil {
			c, _ = protoOf(t.New().Interface())
		}
	}
	switch {
	case c == nil:
		return &Type{Name: name + " is not known to the receiver, which must register it, too"}
	case c.Layout != layout:
		return &Type{Name: name + " has another layout at the receiver: " + c.Layout + " there, " + layout + " at the sender"}
	}
	return c
}
