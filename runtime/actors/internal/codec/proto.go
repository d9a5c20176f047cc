package codec

import (
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// protoPrefix is the prefix of Type.Name for types of protobuf messages.
const protoPrefix = "proto:"

// protoType returns a new Type for protobuf messages of the same type as m.
func protoType(m proto.Message) *Type {
	t := m.ProtoReflect().Type()
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
			m := t.New().Interface()
			c = add(reflect.TypeOf(m), protoType(m))
		}
	}
	switch {
	case c == nil:
		return &Type{Name: name + " is not known to the receiver"}
	case c.Layout != layout:
		return &Type{Name: name + " has another layout at the receiver: " + c.Layout + " there, " + layout + " at the sender"}
	}
	return c
}
