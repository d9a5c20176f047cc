package credit_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
)

// TestOneWayFlood sends 200,000 messages to a receiver that sends no messages. The receiver returns credit in
// updates of a whole window, because it handles all frames in flight before it sends an update. The sequence numbers
// and the counters of frames wrap around. The test checks that all messages are delivered.
func TestOneWayFlood(t *testing.T) {
	p := newPair([2]int{64, 64}, [2]int{16, 16}, 0, 0, 0)
	p.node[0].quota = 200_000
	require.NoError(t, p.calm(false))
	require.Equal(t, 200_000, p.node[1].delivered)
}

// TestFirstMessageIsAnUpdate checks that an update is due as soon as a connection is made, and again on the next
// connection.
func TestFirstMessageIsAnUpdate(t *testing.T) {
	f := credit.New(4)
	require.False(t, f.Due())
	require.Zero(t, f.Credits())
	for range 2 {
		f.Connect(8, 8, 4)
		require.True(t, f.Due())
		f.Update()
		require.False(t, f.Due())
		f.Disconnect()
	}
}

func TestSlots(t *testing.T) {
	f := credit.New(2)
	first, ok := f.Take()
	require.True(t, ok)
	_, ok = f.Take()
	require.True(t, ok)
	_, ok = f.Take()
	require.False(t, ok, "all slots are taken")
	require.Equal(t, 2, f.Queued())
	require.False(t, f.Ready())
	f.Connect(1, 1, 2)
	w, ok := f.Next()
	require.True(t, ok)
	require.Equal(t, first, w.Sequence())
	_, ok = f.Next()
	require.False(t, ok, "one credit")
	require.Panics(t, func() { credit.New(3) })
	require.Panics(t, func() { credit.New(0) })
	require.Panics(t, func() { credit.New(8192) })
}

// TestFramesOfAnEarlierConnectionWait checks that a frame that was sent on an earlier connection waits for the first
// frame of the peer, and that a frame that was never sent does not wait.
func TestFramesOfAnEarlierConnectionWait(t *testing.T) {
	hear := map[string]func(f *credit.Flow, w credit.Word) (freed int, err error){
		"an update": (*credit.Flow).ArriveUpdate,
		"a frame": func(f *credit.Flow, w credit.Word) (int, error) {
			_, freed, err := f.Arrive(w)
			return freed, err
		},
	}
	for name, arrives := range hear {
		t.Run(name, func(t *testing.T) {
			f := credit.New(4)
			f.Take()
			f.Take()
			f.Connect(8, 8, 4)
			for range 2 {
				_, ok := f.Next()
				require.True(t, ok, "never sent")
			}
			f.Disconnect()
			f.Connect(8, 8, 4)
			f.Update()
			_, ok := f.Next()
			require.False(t, ok)
			freed, err := arrives(f, credit.Word(1<<32|8<<16))
			require.NoError(t, err)
			require.Equal(t, 1, freed)
			w, ok := f.Next()
			require.True(t, ok)
			require.EqualValues(t, 1, w.Sequence())
		})
	}
}

// TestDuplicate checks that a frame that has arrived on an earlier connection is not delivered again.
func TestDuplicate(t *testing.T) {
	f := credit.New(4)
	f.Connect(8, 8, 4)
	for sequence := range credit.Word(2) {
		verdict, err := arrive(f, sequence<<48|8<<16)
		require.NoError(t, err)
		require.Equal(t, credit.Deliver, verdict)
	}
	f.Connect(8, 8, 4)
	for sequence, want := range []credit.Verdict{credit.Duplicate, credit.Duplicate, credit.Deliver} {
		verdict, err := arrive(f, credit.Word(sequence)<<48|8<<16)
		require.NoError(t, err)
		require.Equal(t, want, verdict)
	}
}

// TestWindowGrowsWithUse checks that Starved returns true if the peer has at most a quarter of its window left, and
// false if the two sides exchange single messages.
func TestWindowGrowsWithUse(t *testing.T) {
	p := newPair([2]int{64, 64}, [2]int{8, 8}, 1<<30, 0, 0)
	p.update(0)
	require.NoError(t, p.deliver(1))
	for range 100 {
		require.True(t, p.take(0) && p.put(0))
		require.NoError(t, p.deliver(1))
		require.False(t, p.node[1].flow.Starved())
		p.giveBack(1, 1)
		require.True(t, p.take(1) && p.put(1))
		require.NoError(t, p.deliver(0))
		p.giveBack(0, 1)
	}
	for range 6 {
		require.True(t, p.take(0) && p.put(0))
		require.NoError(t, p.deliver(1))
	}
	require.True(t, p.node[1].flow.Starved())
	p.node[1].flow.Widen(8)
	require.Equal(t, 16, p.node[1].flow.Window())
	require.True(t, p.node[1].flow.Due())
	p.update(1)
	require.NoError(t, p.deliver(0))
	require.Equal(t, 10, p.node[0].flow.Credits())
}

// TestAcknowledgedOneByOne has a receiver acknowledge each message with an update until it may send no more
// updates. The test checks that the sender, which has no message to send, then confirms these updates with an
// update of its own.
func TestAcknowledgedOneByOne(t *testing.T) {
	p := newPair([2]int{8, 8}, [2]int{8, 8}, 8, 0, 0)
	for i := range p.node { // the first frame of the connection
		p.update(i)
		require.NoError(t, p.deliver(1-i))
	}
	for range 4 {
		require.True(t, p.take(0) && p.put(0))
	}
	updates := 0
	for range 4 {
		require.NoError(t, p.deliver(1))
		p.giveBack(1, 1)
		if p.node[1].flow.Owed() {
			updates++
			p.update(1)
		}
	}
	require.Equal(t, credit.UpdateReserve, updates)
	require.NoError(t, p.deliver(0))
	require.False(t, p.node[0].flow.Due(), "the peer may still send updates")
	require.NoError(t, p.deliver(0))
	require.NotZero(t, p.node[0].flow.Unacknowledged())
	require.True(t, p.node[0].flow.Due())
	p.update(0)
	require.False(t, p.node[0].flow.Due())
	require.NoError(t, p.check())
	require.NoError(t, p.deliver(1))
	require.True(t, p.node[1].flow.Owed())
	p.update(1)
	require.NoError(t, p.deliver(0))
	require.Zero(t, p.node[0].flow.Unacknowledged())
	require.False(t, p.node[0].flow.Due() || p.node[1].flow.Due())
}

// TestCreditIsReturnedByHalves checks that an update is due only when the receiver can return half of the
// window.
func TestCreditIsReturnedByHalves(t *testing.T) {
	p := newPair([2]int{64, 64}, [2]int{8, 8}, 8, 0, 0)
	p.update(1)
	for n := range 4 {
		require.False(t, p.node[1].flow.Due(), "%d frames", n)
		require.True(t, p.take(0) && p.put(0))
		require.NoError(t, p.deliver(1))
		p.giveBack(1, 1)
	}
	require.True(t, p.node[1].flow.Due())
}

// TestNothingIsSaidInVain checks that a flow does not answer updates if all its own frames are acknowledged, and
// that Owed returns false without a connection.
func TestNothingIsSaidInVain(t *testing.T) {
	p := newPair([2]int{8, 8}, [2]int{8, 8}, 1, 0, 0)
	p.update(0)
	require.NoError(t, p.deliver(1))
	p.update(1)
	require.NoError(t, p.deliver(0))
	f := p.node[1].flow
	for range credit.UpdateReserve {
		_, err := f.ArriveUpdate(credit.Word(8<<16 | 1))
		require.NoError(t, err)
	}
	require.False(t, f.Due())

	require.True(t, p.take(0) && p.put(0))
	require.NoError(t, p.deliver(1))
	require.True(t, p.node[1].flow.Owed())
	p.node[1].flow.Disconnect()
	require.False(t, p.node[1].flow.Owed())
}

// TestGoodbye checks that a BYE acknowledges frames.
func TestGoodbye(t *testing.T) {
	p := newPair([2]int{4, 4}, [2]int{4, 4}, 1, 0, 0)
	require.True(t, p.take(0) && p.put(0))
	require.NoError(t, p.deliver(1))
	require.True(t, p.node[1].flow.Owed())
	p.toward[0] = append(p.toward[0], frame{kind: goodbye, word: p.node[1].flow.Goodbye()})
	require.False(t, p.node[1].flow.Owed())
	require.NoError(t, p.deliver(0))
	require.Zero(t, p.node[0].flow.Unacknowledged())
}

// TestViolations checks that words that no correct peer sends are reported as ErrViolation.
func TestViolations(t *testing.T) {
	word := func(sequence, ack, limit, confirmed uint16) credit.Word {
		return credit.Word(sequence)<<48 | credit.Word(ack)<<32 | credit.Word(limit)<<16 | credit.Word(confirmed)
	}
	cases := map[string]credit.Word{
		"a gap":                       word(1, 0, 8, 0),
		"ack of what was not sent":    word(0, 3, 8, 0),
		"ack of the past":             word(0, 65535, 8, 0),
		"limit goes back":             word(0, 0, 7, 0),
		"limit without bounds":        word(0, 0, 8+credit.WindowMax, 0),
		"confirms an update not sent": word(0, 0, 8, 2),
	}
	for name, w := range cases {
		t.Run(name, func(t *testing.T) {
			f := credit.New(4)
			f.Connect(8, 8, 4)
			f.Update()
			f.Take()
			f.Next()
			_, err := arrive(f, w)
			require.ErrorIs(t, err, credit.ErrViolation)
		})
	}
	t.Run("ack of what was taken but not sent", func(t *testing.T) {
		f := credit.New(4)
		f.Connect(8, 8, 4)
		f.Update()
		for sent := range uint16(2) {
			_, ok := f.Take()
			require.True(t, ok)
			_, err := arrive(f, word(sent, sent+1, 8, 0))
			require.ErrorIs(t, err, credit.ErrViolation)
			_, ok = f.Next()
			require.True(t, ok)
			_, err = arrive(f, word(sent, sent+1, 8, 0))
			require.NoError(t, err)
			f.Return(1)
		}
	})
	t.Run("no credit", func(t *testing.T) {
		f := credit.New(4)
		f.Connect(2, 8, 4)
		for i := range uint16(2) {
			_, err := arrive(f, word(i, 0, 8, 0))
			require.NoError(t, err)
			f.Return(1)
		}
		_, err := arrive(f, word(2, 0, 8, 0))
		require.ErrorIs(t, err, credit.ErrViolation, "returned credit counts only when an update has announced it")
	})
}

// TestSendIsTakeAndNext makes random runs. In each state in which a flow is ready, it compares Send with a
// call of Take followed by a call of Next.
func TestSendIsTakeAndNext(t *testing.T) {
	compared := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := newPair([2]int{1 << r.IntN(5), 1 << r.IntN(5)}, [2]int{1 + r.IntN(20), 1 + r.IntN(20)}, 1<<30, 5, 5)
		for range 2000 {
			all := p.moves()
			require.NoError(t, all[r.IntN(len(all))](p))
			for i := range p.node {
				one, two := p.node[i].flow, p.node[i].flow
				if !one.Ready() {
					continue
				}
				sequence, ok := two.Take()
				require.True(t, ok)
				w, ok := two.Next()
				require.True(t, ok)
				require.Equal(t, sequence, w.Sequence())
				require.Equal(t, w, one.Send())
				require.Equal(t, two, one)
				compared++
			}
		}
	}
	require.Greater(t, compared, 1000)
}

func TestNoAllocations(t *testing.T) {
	a, b := credit.New(16), credit.New(16)
	a.Connect(8, 8, 16)
	b.Connect(8, 8, 16)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		for _, ends := range [2][2]*credit.Flow{{a, b}, {b, a}} {
			from, to := ends[0], ends[1]
			if from.Due() {
				if _, err := to.ArriveUpdate(from.Update()); err != nil {
					t.Fatal(err)
				}
			}
			from.Take()
			w, ok := from.Next()
			if !ok {
				t.Fatal("no credit")
			}
			if _, _, err := to.Arrive(w); err != nil {
				t.Fatal(err)
			}
			to.Return(1)
		}
	}))
}

// FuzzHostile passes arbitrary words, as from a hostile peer, to a flow. It checks that the flow reports a
// violation or stays within its bounds.
func FuzzHostile(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 8, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 1, 0, 9, 0, 1, 3, 3, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		flow := credit.New(4)
		flow.Connect(8, 8, 4)
		held, delivered := 0, 0
		for ; len(b) >= 9; b = b[9:] {
			var w credit.Word
			for _, c := range b[1:9] {
				w = w<<8 | credit.Word(c)
			}
			var err error
			switch b[0] % 6 {
			case 0, 1:
				var v credit.Verdict
				if v, err = arrive(flow, w); err == nil {
					held++
					if v == credit.Deliver {
						require.Equal(t, uint16(delivered), w.Sequence())
						delivered++
					}
				}
			case 2:
				_, err = flow.ArriveUpdate(w)
			case 3:
				flow.Return(held)
				held = 0
			case 4:
				flow.Take()
				flow.Next()
			case 5:
				if flow.Due() || flow.Owed() {
					flow.Update()
				}
			}
			if err != nil {
				require.ErrorIs(t, err, credit.ErrViolation)
				return
			}
			require.LessOrEqual(t, held, 8)
			require.LessOrEqual(t, flow.Unacknowledged(), 4)
			require.LessOrEqual(t, flow.Queued(), flow.Unacknowledged())
			require.LessOrEqual(t, flow.Credits(), credit.WindowMax)
		}
	})
}
