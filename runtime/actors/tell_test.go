package actors_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

type plain struct{ A, B int64 }

type padded struct {
	A int8
	B int64
	C [2]struct {
		D int32
		E int8
	}
}

type nothing struct{}

type rich struct {
	Name  string
	Parts []float64
	More  map[string]*rich
	Reply *actor.PID
}

type own struct{ text string }

// ownCodec is a codec that the program provides. It panics at "!".
type ownCodec struct{}

func (ownCodec) Append(b []byte, v *own) ([]byte, error) {
	switch v.text {
	case "":
		return nil, fmt.Errorf("nothing to say")
	case "!":
		panic("not to be said")
	}
	return append(b, v.text...), nil
}

func (ownCodec) Decode(b []byte, v *own) error { v.text = string(b); return nil }

func init() {
	actors.RegisterType[plain]()
	actors.RegisterType[plain]() // a second call changes nothing
	actors.RegisterType[padded]()
	actors.RegisterType[nothing]()
	actors.RegisterType[rich]()
	actors.RegisterCodec(ownCodec{})
}

func TestMessagesArriveAsTheyWereSent(t *testing.T) {
	t.Run("memory", testMessages)
	t.Run("network", func(t *testing.T) { overNetwork(t); testMessages(t) })
}

func testMessages(t *testing.T) {
	t.Helper()
	long := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	messages := map[string]any{
		"bytes": []byte{1, 2, 3}, "no bytes": []byte{}, "long bytes": long,
		"string": "text", "no string": "", "long string": string(long),
		"int": 7, "float64": 2.5, "bool": true,
		"plain": plain{1, 2}, "pointer to plain": &plain{3, 4}, "padded": padded{A: 1, B: 2}, "nothing": nothing{},
		"pointer to padded": &padded{A: -1},
		"gob":               rich{Name: "a", Parts: []float64{1}, More: map[string]*rich{"b": {Name: "c"}}},
		"pointer to gob":    &rich{Name: "a"}, "long gob": &rich{Parts: make([]float64, 1<<17)},
		"codec": own{"x"}, "pointer to codec": &own{"y"},
		"protobuf": &actor.PID{Address: "rank:9", Id: "x"},
	}
	for name, mode := range modes {
		local(t, 2, actors.Config{}, func(all []*actors.System) {
			c := inbox(t, all[1], "in", mode(all[1]))
			for kind, m := range messages {
				all[0].Root.Send(all[0].PID(1, "in"), m)
				got := next(t, c)
				if p, ok := m.(proto.Message); ok {
					require.True(t, proto.Equal(p, got.(proto.Message)), kind)
					continue
				}
				require.Equal(t, m, got, "%s %s", name, kind)
			}
		})
	}
}

// message makes a message of n equal bytes.
func message(t *testing.T, w *runtime.World, n int, v byte) *runtime.Message {
	t.Helper()
	b, err := runtime.Alloc[byte](w, n)
	require.NoError(t, err)
	for i := range b.Bytes() {
		b.Bytes()[i] = v
	}
	m, err := runtime.NewMessage(b)
	require.NoError(t, err)
	require.Panics(t, func() { b.Bytes() }, "the buffer is the message's")
	_, err = runtime.NewMessage(b)
	require.ErrorIs(t, err, runtime.ErrBuffer)
	return m
}

// TestMessageMemory sends messages to another rank and back. After a send or a Close the sender can
// no longer use the message.
func TestMessageMemory(t *testing.T) {
	t.Run("memory", testMessageMemory)
	t.Run("network", func(t *testing.T) { overNetwork(t); testMessageMemory(t) })
}

func testMessageMemory(t *testing.T) {
	t.Helper()
	for _, n := range []int{0, 1, 256, 257, 1 << 20} {
		got := make(chan *runtime.Message, 1)
		require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
			s, err := actors.Of(w)
			require.NoError(t, err)
			_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if m, ok := c.Message().(*runtime.Message); ok && w.Rank() == 1 {
					// Rank 1 forwards a message whose memory belongs to rank 0. The send copies
					// the message into memory of rank 1.
					c.Send(s.PID(0, "in"), m)
				} else if ok {
					got <- m
				}
			}), "in")
			require.NoError(t, err)
			if w.Rank() == 0 {
				m := message(t, w, n, 7)
				s.Root.Send(s.PID(1, "in"), m)
				require.Panics(t, func() { m.Bytes() })
				m = next(t, got)
				require.Equal(t, bytes.Repeat([]byte{7}, n), append([]byte{}, m.Bytes()...))
				m.Close()
				m.Close()
				dead := letters(s)
				s.Root.Send(s.PID(1, "in"), m)
				require.ErrorIs(t, next(t, dead), runtime.ErrBuffer)
			}
			return nil
		}))
	}
}

func TestMessageIsNotCopied(t *testing.T) {
	addresses := make(chan *byte, 1)
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if m, ok := c.Message().(*runtime.Message); ok {
				addresses <- &m.Bytes()[0]
				m.Close()
			}
		}), "in")
		require.NoError(t, err)
		if w.Rank() == 0 {
			m := message(t, w, 4096, 1)
			first := &m.Bytes()[0]
			s.Root.Send(s.PID(1, "in"), m)
			require.Same(t, first, next(t, addresses))
		}
		return nil
	}))
}

// TestOrder lets several senders send messages of all sizes to one actor that is spawned late.
// The messages of each sender must arrive in order and once.
func TestOrder(t *testing.T) {
	t.Run("memory", testOrder)
	t.Run("network", func(t *testing.T) { overNetwork(t); testOrder(t) })
}

func testOrder(t *testing.T) {
	t.Helper()
	const senders, messages = 4, 600
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 3, actors.Config{}, func(all []*actors.System) {
				var wg sync.WaitGroup
				for k := range senders {
					wg.Go(func() {
						s := all[k%2]
						pid := s.PID(2, "in")
						for i := range messages {
							text := fmt.Sprintf("%d %d ", k, i)
							if i%50 == 0 {
								text += string(make([]byte, 100_000))
							}
							s.Root.Send(pid, text)
						}
					})
				}
				c := inbox(t, all[2], "in", mode(all[2]))
				var seen [senders]int
				for range senders * messages {
					var k, i int
					_, err := fmt.Sscan(next(t, c).(string), &k, &i)
					require.NoError(t, err)
					require.Equal(t, seen[k], i)
					seen[k]++
				}
				wg.Wait()
			})
		})
	}
}

// TestRequestForwardAndPIDs checks that all parts of a request arrive: its sender on any rank,
// its headers, and the PIDs that the message contains.
func TestRequestForwardAndPIDs(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			local(t, 3, actors.Config{}, func(all []*actors.System) {
				_, err := all[2].Spawn(actor.PropsFromFunc(func(c actor.Context) {
					switch m := c.Message().(type) {
					case string:
						c.Respond(m + c.MessageHeader().Get("who"))
					case *rich:
						c.Send(m.Reply, "to "+m.Reply.Id)
					}
				}, mode(all[2])), "answer")
				require.NoError(t, err)
				_, err = all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if _, ok := c.Message().(string); ok {
						c.Forward(all[1].PID(2, "answer"))
					}
				}, mode(all[1])), "forward")
				require.NoError(t, err)
				v, err := all[0].Root.RequestFuture(all[0].PID(1, "forward"), "hi", soon).Result()
				require.NoError(t, err)
				require.Equal(t, "hi", v)

				in := inbox(t, all[0], "in", mode(all[0]))
				envelope := &actor.MessageEnvelope{Message: "hello ", Sender: all[0].PID(0, "in"), Header: map[string]string{"who": "you"}}
				all[0].Root.Send(all[0].PID(2, "answer"), envelope)
				require.Equal(t, "hello you", next(t, in))
				all[0].Root.RequestWithCustomSender(all[0].PID(1, "forward"), "third", all[0].PID(2, "none"))
				all[0].Root.Send(all[0].PID(2, "answer"), &rich{Reply: all[0].PID(0, "in")})
				require.Equal(t, "to in", next(t, in))
			})
		})
	}
}

func TestDeadLettersSayWhy(t *testing.T) {
	local(t, 2, actors.Config{Patience: 20 * time.Millisecond}, func(all []*actors.System) {
		s := all[0]
		here, there := letters(s), letters(all[1])
		_, err := all[1].Spawn(actor.PropsFromFunc(func(actor.Context) {}), "in")
		require.NoError(t, err)
		gone, err := all[1].Spawn(actor.PropsFromFunc(func(actor.Context) {}), "gone")
		require.NoError(t, err)
		s.Root.Send(s.PID(1, "gone"), "still there")
		require.NoError(t, s.Root.PoisonFuture(s.PID(1, "gone")).Wait())
		in := s.PID(1, "in")
		loop := &rich{More: map[string]*rich{}}
		loop.More["itself"] = loop
		for name, c := range map[string]struct {
			pid     *actor.PID
			message any
			where   <-chan *actors.DeadLetter
			want    error
		}{
			"unregistered": {in, struct{ X chan int }{}, here, actors.ErrUnregistered},
			"nil":          {in, nil, here, actors.ErrUnregistered},
			"codec":        {in, &own{}, here, nil},
			"nil plain":    {in, (*plain)(nil), here, nil},
			"nil gob":      {in, (*rich)(nil), here, nil},
			"nil codec":    {in, (*own)(nil), here, nil},
			"loop":         {in, loop, here, nil},
			"nil memory":   {in, (*runtime.Message)(nil), here, runtime.ErrBuffer},
			"no rank":      {s.PID(2, "x"), "x", here, actors.ErrNoRank},
			"negative":     {s.PID(-1, "x"), "x", here, actors.ErrNoRank},
			"no address":   {actor.NewPID("elsewhere:80", "x"), "x", here, actors.ErrNoRank},
			"stale":        {actor.NewPID("rank:1@1", "in"), "x", here, actors.ErrStale},
			"unknown":      {s.PID(1, "never"), "x", there, actors.ErrUnknownActor},
			"stopped":      {s.PID(1, gone.Id), "x", there, actors.ErrStopped},
		} {
			if m, ok := c.message.(string); ok {
				_, err := s.Root.RequestFuture(c.pid, m, soon).Result()
				require.ErrorIs(t, err, actor.ErrDeadLetter, name)
			} else {
				s.Root.Send(c.pid, c.message)
			}
			d := next(t, c.where)
			if c.want != nil {
				require.ErrorIs(t, d, c.want, name)
			}
			require.Equal(t, c.pid.Id, d.PID.Id, name)
			if name != "loop" { // printing a loop would never end
				require.Equal(t, c.message, d.Message, name)
			}
			require.Contains(t, d.Error(), "dead letter to "+c.pid.Address, name)
		}
		s.Root.Send(in, &actor.MessageEnvelope{Message: "x", Header: map[string]string{"key": strings.Repeat("v", 1<<16)}})
		require.ErrorContains(t, next(t, here), "or the headers are too long for a message to another rank: at most 65535 bytes each")
		_, malformed := s.Letters()
		require.Zero(t, malformed)
	})
}

func TestAddresses(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		require.Equal(t, "rank:1", all[1].Address())
		rank, ok := all[0].RankOf(all[1].PID(1, "x"))
		require.True(t, ok)
		require.Equal(t, 1, rank)
		_, ok = all[0].RankOf(actor.NewPID("nonhost", "x"))
		require.False(t, ok)
		_, ok = all[0].RankOf(nil)
		require.False(t, ok)
	})
}

// TestMessagesWaitForTheActor checks that messages and watches wait for an actor that does not
// exist yet.
func TestMessagesWaitForTheActor(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		for rank, there := range all {
			waitsForTheActor(t, s, rank, there)
		}
	})
}

func waitsForTheActor(t *testing.T, s *actors.System, rank int, there *actors.System) {
	t.Helper()
	first := s.Root.RequestFuture(s.PID(rank, "late"), "one", soon)
	second := s.Root.RequestFuture(s.PID(rank, "late"), "two", soon)
	watcher, heard := watcher(t, s, "watcher of "+there.Address())
	ask(t, s, watcher, s.PID(rank, "late"))
	var order []string
	late, err := there.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(string); ok {
			order = append(order, m)
			c.Respond(m)
		}
	}), "late")
	require.NoError(t, err)
	v, err := second.Result()
	require.NoError(t, err)
	require.Equal(t, "two", v)
	v, err = first.Result()
	require.NoError(t, err)
	require.Equal(t, "one", v)
	// This request is sent after the watch, so its answer shows that the watch has arrived. The
	// actor is stopped only then.
	_, err = s.Root.RequestFuture(s.PID(rank, "late"), "three", soon).Result()
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two", "three"}, order)
	there.Root.Stop(late)
	require.Equal(t, actor.TerminatedReason_Stopped, next(t, heard).Why)
}
