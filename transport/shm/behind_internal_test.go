package shm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// sink is a transport.Handler that counts messages.
type sink struct {
	transport.Handler
	messages int
}

// Arrive implements transport.Handler.
func (s *sink) Arrive(int, transport.Header, []byte) { s.messages++ }

// readerOf returns a transport that reads one ring, and a function that writes records to the ring.
func readerOf(t *testing.T) (tr *Transport, put func(records int)) {
	t.Helper()
	s, head := heapSegment(ringBytes), new(uint64)
	w := newRingWriter(s, ringBytes, head, false)
	tr = &Transport{
		cfg: Config{Peers: []int{1}}, rings: []*lane{{ringReader: newRingReader(s, ringBytes, head)}},
		inbox: inboxReader{inboxEnds: newInboxEnds(heapSegment(controlBytes(ringBytes)))}, node: &Node{ranks: 1},
	}
	return tr, func(records int) {
		for range records {
			require.Equal(t, written, w.put(kindMessage, transport.Header{}, nil))
		}
	}
}

// A ring that was emptied once does not count as emptied after a read that has left records in it. The read has
// to clear the flag, because Poll itself clears it only for the first ring (fallBehind).
func TestReadThatLeavesRecords(t *testing.T) {
	tr, put := readerOf(t)
	l := tr.rings[0]
	put(3)
	require.Equal(t, 3, tr.readRing(&sink{}, l, 8))
	require.True(t, l.emptied)
	put(3)
	require.Equal(t, 2, tr.readRing(&sink{}, l, 2))
	require.False(t, l.emptied)
}

// A reader waits in a Poll for several records if the Poll before it has emptied the ring. In any other Poll it
// does not wait. The test recognizes a wait by the field spent, which holds the result of the computation that takes
// the time.
func TestReaderFallsBehind(t *testing.T) {
	for _, c := range []struct {
		name            string
		records, budget int
		next            int // budget of the next Poll
		waits           bool
	}{
		{"emptied", 3, 64, 64, true},
		{"emptied, and a Poll for one record follows", 3, 64, 1, false},
		{"as many records as the ring's half of the budget", 3, 6, 64, false},
		{"a Poll for one record", 1, 1, 64, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, put := readerOf(t)
			l := tr.rings[0]
			put(c.records)
			var h sink
			_, err := tr.Poll(&h, c.budget)
			require.NoError(t, err)
			require.Equal(t, c.records, h.messages)
			require.Zero(t, l.spent)
			for range 2 { // the second of these Polls never waits
				before := l.spent
				_, err = tr.Poll(&h, c.next)
				require.NoError(t, err)
				require.Equal(t, c.waits, l.spent != before)
				c.waits = false
			}
		})
	}
}
