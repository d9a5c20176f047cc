package actors_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// protobufCodec encodes values that are messages of protobuf, as a program would do.
type protobufCodec[T any, P interface {
	*T
	proto.Message
}] struct{}

func (protobufCodec[T, P]) Append(b []byte, v *P) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(b, *v)
}

func (protobufCodec[T, P]) Decode(b []byte, v *P) error {
	*v = new(T)
	return proto.Unmarshal(b, *v)
}

// shouted is a type whose codec is registered by runtime.RegisterCodec.
type shouted struct{ text string }

type shoutedCodec struct{}

func (shoutedCodec) Append(b []byte, v *shouted) ([]byte, error) {
	return append(b, v.text+"!"...), nil
}
func (shoutedCodec) Decode(b []byte, v *shouted) error { v.text = string(b); return nil }

func init() {
	runtime.RegisterCodec(shoutedCodec{})
	actors.RegisterType[shouted]()
	runtime.RegisterCodec(protobufCodec[actor.PID, *actor.PID]{})
}

// TestCodecsAreShared checks that SendValue and messages of actors use the same codecs, whichever
// package registers them.
func TestCodecsAreShared(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		c := w.Comm()
		require.NoError(t, runtime.SendValue(c, own{"x"}, 0, 0))
		v, _, err := runtime.RecvValue[own](c, 0, 0)
		require.NoError(t, err)
		require.Equal(t, own{"x"}, v)
		require.Error(t, runtime.SendValue(c, own{}, 0, 0), "ownCodec refuses it")
		return nil
	}))
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		in := inbox(t, all[1], "in", all[1].Worker())
		all[0].Root.Send(all[0].PID(1, "in"), shouted{"hey"})
		require.Equal(t, shouted{"hey!"}, next(t, in))
	})
}

// TestProtobufValues checks that protobufCodec suffices for SendValue to send messages of protobuf.
func TestProtobufValues(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		sent := &actor.PID{Address: "rank:9", Id: "x", RequestId: 7}
		if c.Rank() == 0 {
			require.NoError(t, runtime.SendValue[*actor.PID](c, nil, 1, 0))
			return runtime.SendValue(c, sent, 1, 0)
		}
		none, _, err := runtime.RecvValue[*actor.PID](c, 0, 0)
		require.NoError(t, err)
		require.Nil(t, none)
		got, s, err := runtime.RecvValue[*actor.PID](c, 0, 0)
		require.NoError(t, err)
		require.True(t, proto.Equal(sent, got))
		require.Greater(t, s.Bytes, proto.Size(sent))
		return nil
	}))
}
