package transporttest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// bulkRules are the rules of Get, Put and FetchAdd.
var bulkRules = []rule{
	{"GetReadsExactlyWhatWasAsked", 2, testGet},
	{"GetsBeyondMaxReadsAreDrivenAgain", 2, testMaxReads},
	{"PutWritesExactlyWhatWasAsked", 2, testPut},
	{"PutIsInPlaceBeforeALaterMessage", 2, testPutThenSend},
	{"FetchAddReturnsTheOldWord", 2, testFetchAdd},
	{"FetchAddOfManyLosesNothing", 4, testFetchAddMany},
	{"GetAndPutAtOnceDoNotDisturbEachOther", 3, testGetPutMixed},
	{"HandlerMayBeginBulk", 2, testBulkInHandler},
	{"EveryCallbackMayCallBack", 3, testCallBack},
	{"UnsupportedBulkSaysSo", 2, testUnsupported},
}

// bulkSizes are lengths in bytes around the sizes of pages, of the pieces of a copy, and of the
// 1 MiB that one Poll of transport/shm copies.
var bulkSizes = []int{0, 1, 7, 8, 63, 4095, 4096, 4097, 65536 + 3, 1<<20 - 1, 1 << 20, 3<<20 + 17}

// margin is the number of bytes on each side of a target that must not change.
const margin = 64

// needs skips the test if has is false, that is, if the transport lacks the capability.
func (r *rig) needs(capability string, has bool) {
	r.Helper()
	if !has {
		r.Skipf("%s: %s: %v", r.ranks[0].transport.Name(), capability, transport.ErrNotSupported)
	}
}

// expose exposes b on a rank. Unless the test conceals b, the exposure ends when the rank's transport is closed.
func (r *rig) expose(rank int, b []byte, access transport.Access) transport.Key {
	r.Helper()
	k, err := r.ranks[rank].transport.Expose(b, access)
	require.NoError(r, err)
	return k
}

// get makes rank 0 read memory of rank 1, waits for the completion and returns its error.
func (r *rig) get(dst []byte, src transport.Key) error {
	r.Helper()
	return r.complete(0, fmt.Sprintf("get of %d bytes", len(dst)), func(token uint64) error {
		return r.endpoint(0, 1).Get(dst, src, token)
	}).err
}

// put makes rank 0 write memory of rank 1, waits for the completion and returns its error.
func (r *rig) put(src []byte, dst transport.Key) error {
	r.Helper()
	return r.complete(0, fmt.Sprintf("put of %d bytes", len(src)), func(token uint64) error {
		return r.endpoint(0, 1).Put(src, dst, token)
	}).err
}

// requireMargins ignores the n bytes in the middle of b. It fails the test if a byte before or after
// them does not have the value rubbish.
func (r *rig) requireMargins(b []byte, n int) {
	r.Helper()
	for i, x := range b {
		if (i < margin || i >= margin+n) && x != rubbish {
			require.Fail(r, "touched outside the target", "offset %d of %d", i-margin, n)
		}
	}
}

func testGet(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("get", caps.Get)
	const offset = 11
	for _, n := range bulkSizes {
		source := pattern(uint64(n), offset+n+5)
		k := r.expose(1, source, transport.AccessRead)
		dst := make([]byte, margin+n+margin)
		spoil(dst)
		require.NoError(r, r.get(dst[margin:margin+n], k.At(offset)))
		require.Equal(r, source[offset:offset+n], dst[margin:margin+n], "%d bytes", n)
		r.requireMargins(dst, n)
		require.NoError(r, r.ranks[1].transport.Conceal(k))
		r.requirePattern(source, uint64(n))
	}
}

func testMaxReads(r *rig) {
	e, caps := r.connected(0, 1)
	r.needs("get", caps.Get)
	const n = 1000
	count := min(3*caps.MaxReads+1, 200)
	source := pattern(1, count*n)
	k := r.expose(1, source, transport.AccessRead)
	m, dst := r.ranks[0], make([]byte, count*n)
	for i := range count {
		token := m.nextToken()
		r.drive("get", func() error { return e.Get(dst[i*n:(i+1)*n], k.At(i*n), token) })
	}
	r.pump("all gets", func() bool { return len(m.completions) == count })
	for _, c := range m.completions {
		require.NoError(r, c.err)
		require.Equal(r, 1, c.peer)
	}
	require.Equal(r, source, dst)
}

func testPut(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("put", caps.Put)
	for _, n := range bulkSizes {
		target := make([]byte, margin+n+margin)
		spoil(target)
		k := r.expose(1, target, transport.AccessWrite)
		source := pattern(uint64(n), n)
		require.NoError(r, r.put(source, k.At(margin)))
		require.NoError(r, r.ranks[1].transport.Conceal(k))
		r.requirePattern(target[margin:margin+n], uint64(n))
		r.requireMargins(target, n)
		r.requirePattern(source, uint64(n))
	}
}

func testPutThenSend(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("put", caps.Put)
	const n = 5000
	target := make([]byte, n)
	k := r.expose(1, target, transport.AccessWrite)
	seen := uint64(0)
	r.ranks[1].onArrive = func(_ int, h transport.Header, _ []byte) {
		r.requirePattern(target, h.A)
		seen = h.A
	}
	for i := range uint64(r.rounds(50)) {
		require.NoError(r, r.put(pattern(i+1, n), k))
		r.send(0, 1, transport.Header{A: i + 1}, nil)
		r.pump("the message after the put", func() bool { return seen == i+1 })
	}
}

// fetchAdd makes rank 0 add to a word of rank 1, and waits for the completion.
func (r *rig) fetchAdd(k transport.Key, delta uint64) completion {
	r.Helper()
	return r.complete(0, "fetch-add", func(token uint64) error {
		return r.endpoint(0, 1).FetchAdd(k, delta, token)
	})
}

func testFetchAdd(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("fetch-add", caps.FetchAdd)
	words := alignedBytes(4 * wordBytes)
	k := r.expose(1, words, transport.AccessAtomic|transport.AccessRead)
	want := uint64(0)
	for _, delta := range []uint64{0, 1, 41, 1 << 40, ^uint64(0), 1 << 63} {
		c := r.fetchAdd(k.At(2*wordBytes), delta)
		require.NoError(r, c.err)
		require.Equal(r, want, c.value)
		want += delta
	}
	require.NoError(r, r.ranks[1].transport.Conceal(k))
	for i := range 4 {
		got := binary.NativeEndian.Uint64(words[i*wordBytes:])
		require.Equal(r, map[bool]uint64{true: want}[i == 2], got, "word %d", i)
	}
}

func testFetchAddMany(r *rig) {
	for rank := 1; rank < len(r.ranks); rank++ {
		_, caps := r.connected(rank, 0)
		r.needs("fetch-add", caps.FetchAdd)
	}
	rounds := r.rounds(200)
	word := alignedBytes(wordBytes)
	k := r.expose(0, word, transport.AccessAtomic)
	finished := 0
	r.ranks[0].onArrive = func(int, transport.Header, []byte) { finished++ }
	r.parallel(func(m *member) error {
		if m.rank == 0 {
			return m.wait("the adders", func() bool { return finished == len(r.ranks)-1 })
		}
		return m.addRepeatedly(k, rounds)
	})
	require.NoError(r, r.ranks[0].transport.Conceal(k))
	require.Equal(r, uint64(rounds*(len(r.ranks)-1)), binary.NativeEndian.Uint64(word))
}

// addRepeatedly adds 1 to a word of rank 0, and then sends an empty message to rank 0. The argument
// rounds is the number of additions, each of which begins after the end of the previous one.
func (m *member) addRepeatedly(k transport.Key, rounds int) error {
	e, err := m.transport.Endpoint(0)
	if err != nil {
		return err
	}
	for range rounds {
		if err := m.complete("fetch-add", func(token uint64) error { return e.FetchAdd(k, 1, token) }); err != nil {
			return err
		}
	}
	return m.send(0, transport.Header{}, nil)
}

// testGetPutMixed makes rank 0 read from rank 1 and write to rank 2 while rank 1 sends messages
// to rank 2.
func testGetPutMixed(r *rig) {
	reader, caps1 := r.connected(0, 1)
	writer, caps2 := r.connected(0, 2)
	r.needs("get and put", caps1.Get && caps2.Put)
	const count, n = 20, 40000
	source, target := pattern(1, count*n), make([]byte, count*n)
	from := r.expose(1, source, transport.AccessRead)
	to := r.expose(2, target, transport.AccessWrite)
	m, dst, src := r.ranks[0], make([]byte, count*n), pattern(2, count*n)
	for i := range count {
		get, put := m.nextToken(), m.nextToken()
		part := func(b []byte) []byte { return b[i*n : (i+1)*n] }
		r.drive("get", func() error { return reader.Get(part(dst), from.At(i*n), get) })
		r.drive("put", func() error { return writer.Put(part(src), to.At(i*n), put) })
		r.send(1, 2, transport.Header{A: uint64(i)}, pattern(uint64(i), shortMessage))
	}
	r.pump("bulk and messages", func() bool {
		return len(m.completions) == 2*count && len(r.ranks[2].arrivals) == count
	})
	for _, c := range m.completions {
		require.NoError(r, c.err)
	}
	require.NoError(r, r.ranks[2].transport.Conceal(to))
	require.Equal(r, source, dst)
	require.Equal(r, src, target)
	r.requireInOrder(r.ranks[2].arrivals)
}

// testBulkInHandler makes a receiver expose memory, conceal memory and begin a Get within Arrive. The engine
// does the same for a rendezvous.
func testBulkInHandler(r *rig) {
	_, caps := r.connected(0, 1)
	r.connected(1, 0)
	r.needs("get", caps.Get)
	const n = 30000
	source, dst := pattern(1, n), make([]byte, n)
	k := r.expose(1, source, transport.AccessRead)
	m := r.ranks[0]
	var again func() error
	m.onArrive = func(peer int, h transport.Header, _ []byte) {
		own, err := m.transport.Expose(dst, transport.AccessWrite)
		if err == nil {
			err = m.transport.Conceal(own)
		}
		if err != nil {
			r.Errorf("expose in a handler: %v", err)
		}
		token := m.nextToken()
		get := func() error { return r.endpoint(0, peer).Get(dst, transport.Key{Addr: h.A, Token: h.B}, token) }
		if err := get(); errors.Is(err, transport.ErrAgain) {
			again = get
		} else if err != nil {
			r.Errorf("get in a handler: %v", err)
		}
	}
	r.send(1, 0, transport.Header{A: k.Addr, B: k.Token}, nil)
	r.pump("the get of the handler", func() bool {
		if again != nil && !errors.Is(again(), transport.ErrAgain) {
			again = nil
		}
		return len(m.completions) == 1
	})
	require.NoError(r, m.completions[m.tokens].err)
	require.Equal(r, source, dst)
}

func testUnsupported(r *rig) {
	e, caps := r.connected(0, 1)
	k := r.expose(1, alignedBytes(64), transport.AccessRead|transport.AccessWrite|transport.AccessAtomic)
	buffer, token := make([]byte, 8), r.ranks[0].nextToken()
	for _, c := range []struct {
		has bool
		do  func() error
	}{
		{caps.Get, func() error { return e.Get(buffer, k, token) }},
		{caps.Put, func() error { return e.Put(buffer, k, token) }},
		{caps.FetchAdd, func() error { return e.FetchAdd(k, 1, token) }},
		{caps.Handover, func() error { _, err := e.Map(k, 8); return err }},
	} {
		if c.has {
			continue
		}
		require.ErrorIs(r, r.attempt("unsupported operation", c.do), transport.ErrNotSupported)
	}
	r.quiet()
	require.Empty(r, r.ranks[0].completions)
}
