package flight

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriterStoppedBetweenStores stops a writer between two stores. For every subset of visible stores, the
// reader must not accept the record as the new one. It may accept the record as the old one only if the old
// record uses three words and these words are unchanged.
func TestWriterStoppedBetweenStores(t *testing.T) {
	const last = 5*Slots + 7
	write := func(memory []byte, n uint64, long bool) slot {
		r := New(memory)
		r.page.counts.next = n
		r.turn(n)
		if long {
			r.Waiting(r.Begin(uint8(n), uint32(n), int(n), int(n), int(n)), Site(n))
		} else {
			r.Moved(uint8(n), uint32(n), int(n), int(n), int(n))
		}
		return r.page.messages[n%Slots]
	}
	for kinds := range 4 {
		oldLong, newLong := kinds&1 != 0, kinds&2 != 0
		before, after := write(nil, last, oldLong), write(nil, last+Slots, newLong)
		stores := 3
		if newLong {
			stores = 4
		} else {
			after[3] = before[3]
		}
		for seen := 1; seen < 1<<stores-1; seen++ {
			mixed := before
			for i := range stores {
				if seen&(1<<i) != 0 {
					mixed[i] = after[i]
				}
			}
			_, whole := mixed.read(last + Slots)
			require.False(t, whole, "kinds %d, stores %b, as the new one", kinds, seen)
			if _, whole = mixed.read(last); whole {
				require.Equal(t, before[:3], mixed[:3], "kinds %d, stores %b, as the old one", kinds, seen)
				require.False(t, oldLong)
			}
		}
		for n, s := range map[uint64]slot{last: before, last + Slots: after} {
			_, whole := s.read(n)
			require.True(t, whole)
		}
	}
}

// TestUnknownStates checks that Read omits a record with a state that no rank writes, and that the other records can be
// encoded and decoded.
func TestUnknownStates(t *testing.T) {
	memory := make([]byte, Bytes)
	r := New(memory)
	for tag := range 3 {
		r.Begin(r.Text("receive"), 0, 1, tag, 0)
	}
	r.page.messages[0][3] |= uint64(Failed) << stateShift
	r.page.messages[1][3] |= uint64(Failed+1) << stateShift
	l, err := Read(memory)
	require.NoError(t, err)
	text, err := json.Marshal(l)
	require.NoError(t, err)
	var again Log
	require.NoError(t, json.Unmarshal(text, &again))
	require.Len(t, again.Messages, 2)
	require.Equal(t, Failed, again.Messages[0].State)
	require.Equal(t, 2, again.Messages[1].Tag)
}
