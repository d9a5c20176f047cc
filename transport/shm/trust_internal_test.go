package shm

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// parseSlot accepts an index word only if a correct peer could have written it: with a known state,
// of the current lap, and for a record within the inbox.
func TestParseSlot(t *testing.T) {
	const pos = 5*inboxSlots + inboxSlots - 4
	for name, c := range map[string]struct {
		word uint64
		ok   bool
	}{
		"free":             {slotWord(slotFree, 0, 0, pos), true},
		"published":        {slotWord(slotPublished, 4, 9, pos), true},
		"claimed":          {slotWord(slotClaimed, 1, 9, pos), true},
		"skip":             {slotWord(slotSkip, 4, 9, pos), true},
		"earlier lap":      {slotWord(slotPublished, 4, 9, pos-inboxSlots), false},
		"later lap":        {slotWord(slotPublished, 4, 9, pos+inboxSlots), false},
		"unknown state":    {slotWord(slotSkip+1, 4, 9, pos), false},
		"beyond the end":   {slotWord(slotPublished, 5, 9, pos), false},
		"no slots":         {slotWord(slotPublished, 0, 9, pos), false},
		"free with slots":  {slotWord(slotFree, 1, 0, pos), false},
		"free with a rank": {slotWord(slotFree, 0, 1, pos), false},
	} {
		_, _, _, ok := parseSlot(c.word, pos)
		require.Equal(t, c.ok, ok, name)
	}
	state, lines, rank, _ := parseSlot(slotWord(slotPublished, 4, 9, pos), pos)
	require.Equal(t, []uint64{slotPublished, 4, 9}, []uint64{state, lines, rank})
}

// A record in an inbox is accepted only if its length needs as many lines as its index word says.
func TestInboxRecordHasItsLines(t *testing.T) {
	r := inboxReader{inboxEnds: newInboxEnds(heapSegment(controlBytes(ringBytes))), pos: inboxSlots - 2}
	for n, want := range map[uint64]bool{0: false, 32: false, 33: true, 96: true, 97: false, maxEager: false} {
		r.data.words[r.pos*lineBytes/8] = recordWord(kindMessage, r.pos*lineBytes, n)
		_, _, payload, ok := r.record(2)
		require.Equal(t, want, ok, "%d bytes in two lines", n)
		if ok {
			require.Len(t, payload, int(n))
		}
	}
}

// A record in a ring is accepted only if it ends within the ring.
func TestRingRecordEndsWithinTheRing(t *testing.T) {
	for _, length := range []uint64{shortRingBytes, ringBytes} {
		r := newRingReader(heapSegment(ringBytes), length, new(uint64))
		r.pos = 3*length - 2*lineBytes
		for n, want := range map[uint64]bool{0: true, 96: true, 97: false, maxEager: false} {
			_, _, _, ok := r.record(recordWord(kindMessage, r.pos, n))
			require.Equal(t, want, ok, "%d bytes in a ring of %d", n, length)
		}
	}
}

// A ring can be filled with records of any size, and every record is read correctly, whatever bytes
// the ring contained before. The bytes after the ring, which belong to other rings, keep their values.
func TestFullRing(t *testing.T) {
	for _, length := range []uint64{shortRingBytes, ringBytes} {
		t.Run(strconv.Itoa(int(length)), func(t *testing.T) {
			s := heapSegment(ringBytes)
			testFullRing(t, s, length)
			require.Zero(t, slices.Max(append([]byte{0}, s.bytes[length:]...)))
		})
	}
}

func testFullRing(t *testing.T, s segment, length uint64) {
	t.Helper()
	head := new(uint64)
	w, r := newRingWriter(s, length, head, false), newRingReader(s, length, head)
	payload := make([]byte, maxEager)
	for i := range payload {
		payload[i] = 0x80 | uint8(i) // looks like a record's word
	}
	for round := range 200 {
		size := []int{0, 32, 33, 500, maxEager}[round%5]
		sent := 0
		for w.put(kindMessage, headerOf(round, sent), payload[:size]) == written {
			sent++
		}
		room := *head + length - w.tail
		require.Less(t, room, 2*recordSize(uint64(size)), "no room for one of %d bytes", size)
		for got := 0; ; {
			word := r.poll()
			if word == 0 {
				require.Equal(t, sent, got)
				break
			}
			kind, h, b, ok := r.record(word)
			require.True(t, ok)
			if kind == kindMessage {
				require.Equal(t, headerOf(round, got), h)
				require.Equal(t, payload[:size], b)
				got++
			}
			r.advance(kind, uint64(len(b)))
		}
	}
}

func headerOf(round, n int) transport.Header {
	return transport.Header{A: uint64(round), B: uint64(n), C: ^uint64(n)}
}

// A shared Get is a Get in which the owner of the memory, the helper, copies a part of the chunks
// (assist.go). It is not complete while the helper is copying a chunk.
func TestSharedGetWaitsForItsHelper(t *testing.T) {
	s := shared{desc: heapSegment(bulkDescriptorBytes)}
	for _, c := range []struct {
		back, done uint64
		quiet      bool
	}{{0, 0, true}, {1, 0, false}, {2, 1, false}, {2, 2, true}} {
		*s.desc.word(descClaims) = c.back * claimBack
		*s.desc.word(descDone) = c.done
		require.Equal(t, c.quiet, s.quiet(), "%d of %d", c.done, c.back)
	}
	require.True(t, (&shared{}).quiet())
}

// Every chunk of a shared Get is claimed once, although the reader and the helper claim concurrently.
// A claim that names another Get fails.
func TestChunksAreClaimedOnce(t *testing.T) {
	const total, sequence = maxChunks, 7
	claims := uint64(sequence) << claimSequence
	claimed := make(chan uint64)
	for _, unit := range []uint64{claimFront, claimBack} {
		go func() {
			n := uint64(0)
			for {
				at, ok := claimChunk(&claims, unit, sequence, total)
				if !ok {
					break
				}
				if at != n {
					t.Errorf("claimed %d after %d", at, n)
				}
				n++
			}
			claimed <- n
		}()
	}
	require.EqualValues(t, total, <-claimed+<-claimed)
	for _, s := range []uint64{sequence - 1, sequence + 1} {
		claims = sequence << claimSequence
		_, ok := claimChunk(&claims, claimBack, s, total)
		require.False(t, ok)
	}
	_, ok := claimChunk(&claims, claimBack, sequence+1<<24, total)
	require.True(t, ok, "the claims hold the low bits of a sequence")
}
