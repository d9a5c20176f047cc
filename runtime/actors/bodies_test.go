package actors_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// Message types of the test. Each uses a kind of encoding that the predefined types do not use.
type (
	spaced struct { // plain data with padding
		A byte
		B int64
	}
	listed struct { // encoded by gob
		Names []string
		Deep  map[string][]int
	}
	careless struct{ Values []uint32 } // its codec does not check its input
	picky    struct{ Text string }     // its codec checks its input
)

// carelessCodec encodes a count and then that many numbers.
type carelessCodec struct{}

func (carelessCodec) Append(b []byte, v *careless) ([]byte, error) {
	b = append(b, byte(len(v.Values)))
	for _, n := range v.Values {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b, nil
}

func (carelessCodec) Decode(b []byte, v *careless) error {
	for i := range int(b[0]) {
		v.Values = append(v.Values, binary.LittleEndian.Uint32(b[1+4*i:]))
	}
	return nil
}

var errPicky = errors.New("not to my taste")

// pickyCodec encodes a byte before and after the text.
type pickyCodec struct{}

func (pickyCodec) Append(b []byte, v *picky) ([]byte, error) {
	return append(append(append(b, '<'), v.Text...), '>'), nil
}

func (pickyCodec) Decode(b []byte, v *picky) error {
	n := len(b)
	if n < 2 || b[0] != '<' || b[n-1] != '>' {
		return errPicky
	}
	v.Text = string(b[1 : n-1])
	return nil
}

func init() {
	actors.RegisterType[spaced]()
	actors.RegisterType[listed]()
	actors.RegisterCodec[careless](carelessCodec{})
	actors.RegisterCodec[picky](pickyCodec{})
}

// wireDefined is the number of the first type that is defined on a connection.
const wireDefined = 16

// bodies has a message for every kind of codec.
var bodies = []any{
	"text", []byte("bytes"), 7, true, 2.5,
	spaced{1, 2},
	&spaced{3, 4},
	listed{[]string{"a", "b"}, map[string][]int{"k": {1, 2}}},
	&listed{Names: []string{"c"}},
	careless{[]uint32{1, 2}},
	&careless{[]uint32{3}},
	picky{"p"},
	&picky{"q"}, actor.NewPID("rank:0", "proto"),
}

// numbers returns the number of a message's type on the wire, and the encoded message. If
// necessary, it sends the definition of the type.
func (w *wire) numbers(tb testing.TB, l *engine.Stream, m any) (kind uint32, body []byte) {
	tb.Helper()
	name, layout, body, err := actors.Travels(m)
	require.NoError(tb, err)
	switch m.(type) {
	case string:
		return wireString, body
	case []byte:
		return wireBytes, body
	}
	definition := append(binary.LittleEndian.AppendUint16(nil, uint16(len(name))), name...)
	w.send(tb, l, 0, wireDefine, 0, wireDefined, append(definition, layout...))
	return wireDefined, body
}

// outcome waits until a message was delivered or became a dead letter because of a malformed
// body. It returns the message or the dead letter.
func outcome(tb testing.TB, got <-chan any, dead <-chan *actors.DeadLetter) (any, *actors.DeadLetter) {
	tb.Helper()
	select {
	case m := <-got:
		return m, nil
	case d := <-dead:
		require.Contains(tb, d.Error(), "malformed actor message")
		return nil, d
	case <-time.After(soon):
		require.FailNow(tb, "neither a message nor a dead letter")
		return nil, nil
	}
}

// TestTruncatedBodies truncates each message of bodies at every length, and also appends a byte to
// it. It sends the result once in an actor message and once as a long message. Each result must be
// delivered as a message of the same type or become a dead letter that is counted. A later message
// must arrive.
func TestTruncatedBodies(t *testing.T) {
	for i, m := range bodies {
		t.Run(fmt.Sprintf("%d %T", i, m), func(t *testing.T) {
			w := newWire(t, actors.Config{})
			got := inbox(t, w.s, "in", w.s.Worker())
			dead := letters(w.s)
			l := w.stream(t, "in")
			kind, whole := w.numbers(t, l, m)
			letters, messages, tag := 0, 0, uint32(0)
			for n := range len(whole) + 2 {
				body := append(append([]byte(nil), whole...), 0)[:n]
				for _, long := range []bool{false, true} {
					if long {
						tag++
						w.announce(t, l, kind, uint64(n), tag)
						w.long(int(tag), body)
					} else {
						w.send(t, l, l.Number(), wireUser, 0, kind, body)
					}
					message, _ := outcome(t, got, dead)
					if message == nil {
						letters++
						continue
					}
					messages++
					require.IsType(t, m, message)
					if n == len(whole) {
						same(t, m, message)
					}
				}
			}
			require.GreaterOrEqual(t, messages, 2, "the complete body must be delivered both times")
			deadLetters, rubbish := w.s.Letters()
			require.EqualValues(t, letters, deadLetters)
			require.EqualValues(t, letters, rubbish)
			w.text(t, l, "after")
			require.Equal(t, "after", next(t, got))
		})
	}
}

// same compares two messages. Messages of protobuf are compared by their contents.
func same(tb testing.TB, want, got any) {
	tb.Helper()
	if pid, ok := want.(*actor.PID); ok {
		require.True(tb, pid.Equal(got.(*actor.PID)))
		return
	}
	require.Equal(tb, want, got)
}

// FuzzBody sends arbitrary bytes as the body of a message of any type.
func FuzzBody(f *testing.F) {
	for i, m := range bodies {
		_, _, body, err := actors.Travels(m)
		require.NoError(f, err)
		for _, long := range []bool{false, true} {
			f.Add(uint8(i), long, body)
			f.Add(uint8(i), long, body[:len(body)/2])
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, long bool, body []byte) {
		m := bodies[int(which)%len(bodies)]
		body = body[:min(len(body), 500)]
		w := newWire(t, actors.Config{})
		got, dead := inbox(t, w.s, "in", w.s.Worker()), letters(w.s)
		l := w.stream(t, "in")
		kind, _ := w.numbers(t, l, m)
		if long {
			w.announce(t, l, kind, uint64(len(body)), 1)
			w.long(1, body)
		} else {
			w.send(t, l, l.Number(), wireUser, 0, kind, body)
		}
		message, letter := outcome(t, got, dead)
		switch m.(type) {
		case string:
			require.Equal(t, string(body), message)
		case []byte:
			require.Equal(t, body, append([]byte{}, message.([]byte)...))
		case int, float64, bool, spaced, *spaced:
			_, _, whole, _ := actors.Travels(m)
			require.Equal(t, len(body) != len(whole), letter != nil)
		}
		if message != nil {
			require.Equal(t, reflect.TypeOf(m), reflect.TypeOf(message))
		}
		w.text(t, l, "after")
		require.Equal(t, "after", next(t, got))
	})
}

// garbled is a type whose codec cannot decode what it has encoded. The field how chooses the kind
// of failure.
type garbled struct{ how byte }

type garbledCodec struct{}

func (garbledCodec) Append(b []byte, v *garbled) ([]byte, error) { return append(b, v.how), nil }

func (garbledCodec) Decode(b []byte, _ *garbled) error {
	if b[0] == 0 {
		return errPicky
	}
	panic(errPicky)
}

func init() { actors.RegisterCodec[garbled](garbledCodec{}) }

// TestRequestsOfRubbishAreAnswered checks a request that cannot be decoded. The request must become
// one dead letter at the receiver, counted as malformed, and the sender must get an answer.
func TestRequestsOfRubbishAreAnswered(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{MaxEager: 700, EagerBest: 300}, nil)
	in := inbox(t, all[1], "in", all[1].Worker())
	dead := letters(all[1])
	for how := range byte(2) {
		for _, m := range []any{garbled{how}, &garbled{how}} {
			_, err := all[0].Root.RequestFuture(all[0].PID(1, "in"), m, soon).Result()
			require.ErrorIs(t, err, actor.ErrDeadLetter)
			d := next(t, dead)
			require.Equal(t, "in", d.PID.Id)
			require.NotNil(t, d.Sender)
		}
	}
	deadLetters, rubbish := all[1].Letters()
	require.EqualValues(t, 4, deadLetters)
	require.EqualValues(t, 4, rubbish)
	require.Empty(t, dead)
	all[0].Root.Send(all[0].PID(1, "in"), "after")
	require.Equal(t, "after", next(t, in))
}
