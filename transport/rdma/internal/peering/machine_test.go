package peering_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

func machine(rank uint32) *peering.Machine {
	return peering.New(peering.Config{Rank: rank, Peer: 1 - rank, Incarnation: 7, Random: rand.NewPCG(1, 1)})
}

// kinds returns the kinds of the actions, in order.
func kinds(actions []peering.Action) []peering.ActionKind {
	var all []peering.ActionKind
	for _, a := range actions {
		all = append(all, a.Kind)
	}
	return all
}

var (
	first  = peering.Conn{Active: true, Number: 1}
	second = peering.Conn{Active: true, Number: 2}
	in1    = peering.Conn{Number: 1}
	in2    = peering.Conn{Number: 2}
)

// connect takes a machine to the connected state on its first active connection. The peer has incarnation 3 and
// attempt 10.
func connect(t *testing.T, m *peering.Machine) {
	t.Helper()
	require.Equal(t, []peering.ActionKind{peering.Dial}, kinds(m.Step(0, peering.Event{Kind: peering.Want}, nil)))
	out := m.Step(0, peering.Event{Kind: peering.Established, Conn: first, Greeting: peering.Greeting{Incarnation: 3, Attempt: 10}}, nil)
	require.Equal(t, []peering.Action{{Kind: peering.Use, Conn: first}}, out)
}

func request(m *peering.Machine, c peering.Conn, incarnation, attempt uint16) []peering.Action {
	return m.Step(0, peering.Event{
		Kind: peering.Requested, Conn: c, Greeting: peering.Greeting{Incarnation: incarnation, Attempt: attempt},
	}, nil)
}

// TestReplays checks which requests a machine refuses: requests with an attempt number that it has seen in a
// request or in a reply, requests with an older number, and requests of an older incarnation.
func TestReplays(t *testing.T) {
	cases := []struct {
		name                 string
		incarnation, attempt uint16
		want                 negotiation.Reason // 0 means accepted
	}{
		{"the attempt the peer gave up when it replied", 3, 10, negotiation.Duplicate},
		{"an older one", 3, 9, negotiation.Duplicate},
		{"one from before the wrap", 3, 65535, negotiation.Duplicate},
		{"an older incarnation", 2, 11, negotiation.StaleEpoch},
		{"an older incarnation before the wrap", 65535, 11, negotiation.StaleEpoch},
		{"a newer attempt", 3, 11, 0},
		{"the farthest newer attempt", 3, 10 + 1<<15 - 1, 0},
		{"a newer incarnation", 4, 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := machine(0)
			connect(t, m)
			out := request(m, in1, c.incarnation, c.attempt)
			if c.want == 0 {
				last := out[len(out)-1]
				require.Equal(t, peering.Action{Kind: peering.Accept, Conn: in1, Greeting: peering.Greeting{Incarnation: 7, Attempt: 1}}, last)
				require.Equal(t, peering.Retire, out[0].Kind)
				require.Equal(t, peering.Drop, out[1].Kind)
				out = request(m, in2, c.incarnation, c.attempt)
				require.Equal(t, negotiation.Duplicate, out[0].Reject.Reason, "the same request again")
				return
			}
			require.Len(t, out, 1)
			require.Equal(t, peering.Refuse, out[0].Kind)
			require.Equal(t, c.want, out[0].Reject.Reason)
			if c.want == negotiation.StaleEpoch {
				require.EqualValues(t, 3, out[0].Reject.Incarnation)
			}
			conn, ok := m.InUse()
			require.True(t, ok)
			require.Equal(t, first, conn)
		})
	}
}

// TestRestartVoidsWhatWasKept checks that the action Restarted comes once for each new incarnation of the peer,
// before the connection to this incarnation.
func TestRestartVoidsWhatWasKept(t *testing.T) {
	m := machine(0)
	connect(t, m)
	out := request(m, in1, 4, 1)
	require.Equal(t, []peering.ActionKind{peering.Retire, peering.Drop, peering.Restarted, peering.Accept}, kinds(out))
	require.ErrorIs(t, out[0].Err, peering.ErrRestarted)
	require.EqualValues(t, 4, out[2].Greeting.Incarnation)
	out = request(m, in2, 4, 2)
	require.Equal(t, []peering.ActionKind{peering.Drop, peering.Accept}, kinds(out))
}

func TestSimultaneous(t *testing.T) {
	low, high := machine(0), machine(1)
	low.Step(0, peering.Event{Kind: peering.Want}, nil)
	high.Step(0, peering.Event{Kind: peering.Want}, nil)
	out := request(low, in1, 7, 1)
	require.Equal(t, negotiation.Simultaneous, out[0].Reject.Reason)
	require.Equal(t, negotiation.Duplicate, request(low, in2, 7, 1)[0].Reject.Reason, "the attempt number is remembered")
	require.Equal(t, []peering.ActionKind{peering.Drop, peering.Accept}, kinds(request(high, in1, 7, 1)))
	late := peering.Event{Kind: peering.Refused, Conn: first, Reject: negotiation.Reject{Reason: negotiation.Simultaneous}}
	require.Empty(t, high.Step(0, late, nil), "its own attempt is forgotten")
	require.Empty(t, high.Step(0, peering.Event{Kind: peering.Lost, Conn: first}, nil))
	require.Equal(t, []peering.Action{{Kind: peering.Use, Conn: in1}}, high.Step(0, peering.Event{Kind: peering.FirstMessage, Conn: in1}, nil))
}

// TestAttemptsOfTheNextLife checks that the attempt numbers of a new incarnation start again, even if this
// incarnation has answered a request before its first own request.
func TestAttemptsOfTheNextLife(t *testing.T) {
	m := machine(0)
	connect(t, m)
	m.Step(0, peering.Event{Kind: peering.Lost, Conn: first, Err: errBroken}, nil)
	out := m.Step(0, peering.Event{Kind: peering.Established, Conn: second, Greeting: peering.Greeting{Incarnation: 4, Attempt: 2}}, nil)
	require.Equal(t, []peering.ActionKind{peering.Restarted, peering.Use}, kinds(out))
	require.Equal(t, negotiation.Duplicate, request(m, in1, 4, 2)[0].Reject.Reason)
	out = request(m, in2, 4, 3)
	require.Equal(t, peering.Accept, out[len(out)-1].Kind)
}

// TestFirstMessageCountsOnce checks that a machine ignores a second event FirstMessage of a connection, and an
// event FirstMessage of a connection that the peer has not requested.
func TestFirstMessageCountsOnce(t *testing.T) {
	m := machine(1)
	m.Step(0, peering.Event{Kind: peering.Want}, nil)
	require.Empty(t, m.Step(0, peering.Event{Kind: peering.FirstMessage, Conn: first}, nil))
	request(m, in1, 3, 1)
	require.Equal(t, []peering.Action{{Kind: peering.Use, Conn: in1}}, m.Step(0, peering.Event{Kind: peering.FirstMessage, Conn: in1}, nil))
	require.Empty(t, m.Step(0, peering.Event{Kind: peering.FirstMessage, Conn: in1}, nil))
}

func TestAttemptTimesOut(t *testing.T) {
	m := machine(0)
	m.Step(0, peering.Event{Kind: peering.Want}, nil)
	at, ok := m.Deadline()
	require.True(t, ok)
	require.Equal(t, 5*time.Second, at)
	require.Equal(t, []peering.Action{{Kind: peering.Drop, Conn: first}}, m.Step(at, peering.Event{Kind: peering.Tick}, nil))
	require.Empty(t, m.Step(at, peering.Event{Kind: peering.Established, Conn: first}, nil), "too late")
	_, ok = m.InUse()
	require.False(t, ok)
}

// TestLostConnectionIsMadeAgain checks which rank dials after a loss: the lower rank dials at once, and the
// higher rank dials after a pause.
func TestLostConnectionIsMadeAgain(t *testing.T) {
	for rank := range uint32(2) {
		m := machine(rank)
		connect(t, m)
		out := m.Step(time.Minute, peering.Event{Kind: peering.Lost, Conn: first, Err: errBroken}, nil)
		require.Equal(t, peering.Action{Kind: peering.Retire, Conn: first, Err: errBroken}, out[0])
		at, ok := m.Deadline()
		require.True(t, ok)
		if rank == 0 {
			require.Equal(t, []peering.ActionKind{peering.Retire, peering.Dial}, kinds(out))
		} else {
			require.Len(t, out, 1)
			require.Equal(t, second, m.Step(at, peering.Event{Kind: peering.Tick}, nil)[0].Conn)
		}
	}
}

// TestReplacedConnectionIsMadeAgain checks that a rank dials again when a request of the peer has replaced the
// connection in use, and the new connection fails.
func TestReplacedConnectionIsMadeAgain(t *testing.T) {
	m := machine(1)
	connect(t, m)
	out := request(m, in1, 3, 11)
	require.Equal(t, []peering.ActionKind{peering.Retire, peering.Drop, peering.Accept}, kinds(out))
	require.ErrorIs(t, out[0].Err, peering.ErrReplaced)
	require.Empty(t, m.Step(0, peering.Event{Kind: peering.Lost, Conn: in1, Err: errBroken}, nil))
	at, ok := m.Deadline()
	require.True(t, ok)
	require.Equal(t, second, m.Step(at, peering.Event{Kind: peering.Tick}, nil)[0].Conn)
}

// TestBye checks the orderly end of a connection: a BYE that is answered, a BYE that is lost, a BYE of the peer,
// and BYEs of both sides at the same time.
func TestBye(t *testing.T) {
	say := []peering.ActionKind{peering.Retire, peering.SendBye}
	t.Run("answered", func(t *testing.T) {
		m := machine(0)
		connect(t, m)
		require.Equal(t, say, kinds(m.Step(0, peering.Event{Kind: peering.Idle}, nil)))
		require.Equal(t, []peering.Action{{Kind: peering.Close, Conn: first}}, m.Step(0, peering.Event{Kind: peering.ByeAck, Conn: first}, nil))
		_, ok := m.Deadline()
		require.False(t, ok)
		require.Equal(t, second, m.Step(0, peering.Event{Kind: peering.Want}, nil)[0].Conn)
	})
	t.Run("lost", func(t *testing.T) {
		m := machine(0)
		connect(t, m)
		m.Step(0, peering.Event{Kind: peering.Idle}, nil)
		require.Empty(t, m.Step(0, peering.Event{Kind: peering.Want}, nil))
		out := m.Step(2*time.Second, peering.Event{Kind: peering.Tick}, nil)
		require.Equal(t, []peering.ActionKind{peering.Drop, peering.Dial}, kinds(out))
	})
	t.Run("heard", func(t *testing.T) {
		m := machine(0)
		connect(t, m)
		out := m.Step(0, peering.Event{Kind: peering.Bye, Conn: first}, nil)
		require.Equal(t, []peering.ActionKind{peering.Retire, peering.SendByeAck}, kinds(out))
		require.NoError(t, out[0].Err)
		require.Empty(t, m.Step(0, peering.Event{Kind: peering.ByeAck, Conn: first}, nil), "no BYE-ACK is expected")
		require.Empty(t, m.Step(0, peering.Event{Kind: peering.Lost, Conn: first, Err: errBroken}, nil))
	})
	t.Run("both at once", func(t *testing.T) {
		m := machine(0)
		connect(t, m)
		m.Step(0, peering.Event{Kind: peering.Idle}, nil)
		out := m.Step(0, peering.Event{Kind: peering.Bye, Conn: first}, nil)
		require.Equal(t, []peering.Action{{Kind: peering.SendByeAck, Conn: first}}, out)
		require.Equal(t, []peering.ActionKind{peering.Close}, kinds(m.Step(0, peering.Event{Kind: peering.ByeAck, Conn: first}, nil)))
	})
	t.Run("final", func(t *testing.T) {
		m := machine(0)
		connect(t, m)
		m.Step(0, peering.Event{Kind: peering.Bye, Conn: first, Final: true}, nil)
		out := m.Step(0, peering.Event{Kind: peering.Lost, Conn: first}, nil)
		require.Equal(t, []peering.ActionKind{peering.Ended}, kinds(out))
		require.ErrorIs(t, m.Err(), negotiation.Refused(negotiation.Shutdown))
	})
	t.Run("shutdown", func(t *testing.T) {
		m := machine(0)
		connect(t, m)
		out := m.Step(0, peering.Event{Kind: peering.Shutdown}, nil)
		require.Equal(t, say, kinds(out))
		require.True(t, out[1].Final)
		require.Equal(t, negotiation.Shutdown, request(m, in1, 3, 11)[0].Reject.Reason)
		out = m.Step(0, peering.Event{Kind: peering.ByeAck, Conn: first}, nil)
		require.Equal(t, []peering.ActionKind{peering.Close, peering.Finished}, kinds(out))
		require.Equal(t, negotiation.Shutdown, request(m, in2, 3, 12)[0].Reject.Reason)
	})
}

func TestGone(t *testing.T) {
	m := machine(0)
	connect(t, m)
	out := m.Step(0, peering.Event{Kind: peering.Gone, Err: errBroken}, nil)
	require.Equal(t, []peering.ActionKind{peering.Retire, peering.Drop, peering.Down}, kinds(out))
	require.Empty(t, m.Step(0, peering.Event{Kind: peering.Gone, Err: errBroken}, nil), "once")
	require.ErrorIs(t, m.Err(), errBroken)
	require.Equal(t, negotiation.StaleEpoch, request(m, in1, 3, 11)[0].Reject.Reason)
	require.Equal(t, negotiation.Busy, request(m, in2, 4, 1)[0].Reject.Reason)
}

// TestOldLifeAnswers checks that a machine does not use a reply of an incarnation that has ended.
func TestOldLifeAnswers(t *testing.T) {
	m := machine(0)
	connect(t, m)
	m.Step(0, peering.Event{Kind: peering.Lost, Conn: first, Err: errBroken}, nil)
	out := m.Step(0, peering.Event{Kind: peering.Established, Conn: second, Greeting: peering.Greeting{Incarnation: 2, Attempt: 11}}, nil)
	require.Equal(t, []peering.Action{{Kind: peering.Drop, Conn: second}}, out)
	require.Contains(t, m.String(), "waiting")
	require.Contains(t, m.String(), "peer 3")
}

func TestNewRefusesNonsense(t *testing.T) {
	require.Panics(t, func() { peering.New(peering.Config{Rank: 2, Peer: 2, Random: steady{}}) })
	require.Panics(t, func() { peering.New(peering.Config{Rank: 2, Peer: 3}) })
}

// FuzzStep gives one machine arbitrary events. It checks that the machine does not panic, that no action names
// an unknown connection, and that the machine ends at most once.
func FuzzStep(f *testing.F) {
	f.Add([]byte{1, 0, 0, 6, 1, 3, 2, 0, 0, 11, 1, 0})
	f.Add([]byte{1, 0, 0, 9, 3, 200, 0, 0, 20, 9, 5, 200, 0, 0, 20, 9, 7, 200, 0, 0, 20, 0})
	f.Add([]byte{5, 2, 1, 8, 2, 0, 9, 2, 0, 0, 0, 0, 4, 0, 0, 3, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m := peering.New(peering.Config{Rank: uint32(len(b) % 2), Peer: uint32(1 - len(b)%2), Incarnation: 7, Supervised: len(b)%4 > 1, Random: rand.NewPCG(1, 1)})
		silent := false
		owned, used, ends, finished, now, next := map[peering.Conn]bool{}, peering.Conn{}, 0, 0, time.Duration(0), uint32(0)
		for ; len(b) >= 3; b = b[3:] {
			c := peering.Conn{Active: b[1]&1 != 0, Number: uint32(b[1] >> 1)}
			if e := peering.EventKind(b[0] % 12); e == peering.Requested {
				next++
				c = peering.Conn{Number: next}
				owned[c] = true
			}
			now += time.Duration(b[2]) * 50 * time.Millisecond
			g := peering.Greeting{Incarnation: uint16(b[2]), Attempt: binary.BigEndian.Uint16(b[1:])}
			for _, a := range m.Step(now, peering.Event{
				Kind: peering.EventKind(b[0] % 12), Conn: c, Greeting: g, Final: b[2]&1 != 0,
				Reject: negotiation.Reject{Reason: negotiation.Reason(b[2] % 13)}, Contact: peering.Contact(b[2] % (byte(peering.Unasked) + 1)), Err: errBroken,
			}, nil) {
				switch a.Kind {
				case peering.Silent:
					require.GreaterOrEqual(t, a.For, 30*time.Second)
					silent = true
				case peering.Answers:
					require.True(t, silent)
					silent = false
				case peering.Dial:
					owned[a.Conn] = true
				case peering.Refuse, peering.Drop, peering.Close:
					require.True(t, owned[a.Conn])
					require.NotEqual(t, used, a.Conn)
					delete(owned, a.Conn)
				case peering.Use:
					require.True(t, owned[a.Conn])
					require.Zero(t, used)
					used = a.Conn
				case peering.Retire:
					require.Equal(t, used, a.Conn)
					used = peering.Conn{}
				case peering.Accept, peering.SendBye, peering.SendByeAck:
					require.True(t, owned[a.Conn])
				case peering.Down, peering.Ended:
					ends++
				case peering.Finished:
					finished++
				case peering.Restarted:
				}
			}
			require.LessOrEqual(t, ends, 1)
			require.LessOrEqual(t, finished, 1)
			if at, ok := m.Deadline(); ok {
				require.LessOrEqual(t, at, now+30*time.Second+30*time.Second)
			}
		}
	})
}
