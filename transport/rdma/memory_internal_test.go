package rdma

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// exposedTest is a rank that has exposed some memory, with a naive model of this memory to compare with.
type exposedTest struct {
	t      *Transport
	p      *endpoint
	memory []exposedMemory
}

type exposedMemory struct {
	b      []byte
	key    transport.Key
	access transport.Access
}

func newExposedTest(tb testing.TB) *exposedTest {
	tb.Helper()
	addr := netip.AddrFrom4([4]byte{10, 0, 0, 1})
	host := &verbstest.Host{Network: verbstest.NewNetwork(verbstest.StyleIWARP), Addr: addr}
	t, err := New(Config{
		Size: 2, Job: "test", Secret: []byte("secret"), Rails: []Rail{{Provider: host, Interface: addr.String()}},
		Lookup: func(int) ([]Location, error) { return nil, nil }, Sleeper: new(transport.ChannelSleeper),
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, t.Close()) })
	x := &exposedTest{t: t, p: t.meet(1)}
	for _, m := range []exposedMemory{
		{make([]byte, 64), transport.Key{}, transport.AccessRead},
		{make([]byte, 100), transport.Key{}, transport.AccessRead | transport.AccessWrite},
		{make([]byte, 24), transport.Key{}, transport.AccessAtomic},
		{nil, transport.Key{}, transport.AccessRead},
	} {
		m.key, err = t.Expose(m.b, m.access)
		require.NoError(tb, err)
		x.memory = append(x.memory, m)
	}
	return x
}

// allows reports whether the model permits an access to n bytes at a key. The model compares the key with the
// key of every byte.
func (x *exposedTest) allows(k transport.Key, n int64, access transport.Access) (m exposedMemory, off int, ok bool) {
	for _, m := range x.memory {
		if m.key.Token != k.Token || m.access&access != access {
			continue
		}
		for off := range len(m.b) + 1 {
			if m.key.At(off).Addr == k.Addr {
				return m, off, len(m.b) > 0 && n >= 0 && n <= int64(len(m.b)-off)
			}
		}
	}
	return exposedMemory{}, 0, false
}

// question returns a record that asks about memory (recordFetch, recordCheck or recordKey), as it arrives from a
// peer.
func question(k recordKind, h transport.Header, id uint32, access byte) []byte {
	payload := binary.LittleEndian.AppendUint32(nil, id)
	payload = append(payload, access, 0, 0, 0)
	b := make([]byte, recordBytes+padded(len(payload)))
	return b[:putRecord(b, k, h, payload)]
}

// serve passes the first record in b to the endpoint, and compares the answer and the memory with the model.
func (x *exposedTest) serve(tb testing.TB, b []byte) error {
	tb.Helper()
	r, _, err := parseRecord(b)
	if err != nil || r.kind == recordMessage {
		return err
	}
	before := make([][]byte, len(x.memory))
	for i, m := range x.memory {
		before[i] = bytes.Clone(m.b)
	}
	x.p.bulk.answers = nil
	if err := x.p.serve(&r); err != nil {
		require.ErrorIs(tb, err, transport.ErrDamaged)
		require.Empty(tb, x.p.bulk.answers)
		return err
	}
	k := transport.Key{Addr: r.header.A, Token: r.header.B}
	if r.kind == recordFetch {
		m, off, ok := x.allows(k, wordBytes, transport.AccessAtomic)
		ok = ok && k.Addr%wordBytes == 0
		want := answer{recordFetched, transport.Header{B: statusBadKey, C: uint64(binary.LittleEndian.Uint32(r.payload))}}
		if ok {
			old := binary.NativeEndian.Uint64(before[2][off:])
			require.Equal(tb, x.memory[2].key, m.key)
			want.header.A, want.header.B = old, statusGood
			binary.NativeEndian.PutUint64(before[2][off:], old+r.header.C)
		}
		require.Equal(tb, []answer{want}, x.p.bulk.answers)
	}
	if r.kind == recordCheck {
		_, _, ok := x.allows(k, int64(r.header.C), transport.Access(r.payload[4]))
		want := answer{recordChecked, transport.Header{B: statusBadKey, C: uint64(binary.LittleEndian.Uint32(r.payload))}}
		if ok {
			want.header.A, want.header.B = k.Addr, k.Token<<checkedKeyShift
		}
		require.Equal(tb, []answer{want}, x.p.bulk.answers)
	}
	for i, m := range x.memory {
		require.True(tb, bytes.Equal(before[i], m.b), "memory %d", i)
	}
	return nil
}

// questions returns valid and invalid records that ask about memory.
func (x *exposedTest) questions() [][]byte {
	var all [][]byte
	for _, m := range x.memory {
		for _, off := range []int{-8, -1, 0, 1, 8, len(m.b) - 8, len(m.b) - 7, len(m.b) - 1, len(m.b), len(m.b) + 1} {
			k := m.key
			k.Addr += uint64(off)
			all = append(all, question(recordFetch, transport.Header{A: k.Addr, B: k.Token, C: 3}, 7, 0))
			for _, n := range []uint64{0, 1, 8, uint64(len(m.b)), uint64(len(m.b) - off), 1<<63 - 1, 1 << 63, ^uint64(0)} {
				for _, access := range []byte{0, 1, 2, 3, 4, 255} {
					all = append(all, question(recordCheck, transport.Header{A: k.Addr, B: k.Token, C: n}, 9, access))
				}
			}
		}
		all = append(all, question(recordFetch, transport.Header{A: m.key.Addr, B: m.key.Token + 1<<32, C: 3}, 7, 0))
	}
	return all
}

// TestQuestionsAboutMemory checks that a rank answers the peer's questions about memory according to what was
// exposed. A question must be reported as damaged if it is cut off before its payload, or if its payload has a wrong
// length.
func TestQuestionsAboutMemory(t *testing.T) {
	x := newExposedTest(t)
	good := 0
	for _, b := range x.questions() {
		require.NoError(t, x.serve(t, b))
		if x.p.bulk.answers[0].header.B&statusMask == statusGood {
			good++
		}
		for n := range recordBytes + 1 {
			require.ErrorIs(t, x.serve(t, b[:n]), transport.ErrDamaged)
		}
	}
	require.Greater(t, good, 50)
	for _, kind := range []recordKind{recordFetch, recordCheck} {
		for n := range 20 {
			b := make([]byte, 64)
			b = b[:putRecord(b, kind, transport.Header{}, make([]byte, n))]
			err := x.serve(t, b)
			require.Equal(t, n != questionBytes, err != nil, "%d bytes", n)
		}
	}
	require.NoError(t, x.t.Conceal(x.memory[2].key))
	x.memory = x.memory[:2]
	for _, b := range x.questions() {
		require.NoError(t, x.serve(t, b))
	}
}

// TestRefusedMemory has the adapter of the connection refuse to register exposed memory. The test checks that
// the owner answers with statusRefused instead of statusBadKey, that the operation of the peer fails with
// errRefused, and that the owner has logged the reason (Transport.complained).
func TestRefusedMemory(t *testing.T) {
	x := newExposedTest(t)
	m := x.memory[1]
	e := x.t.exposed[m.key.Token]
	home, there := e.home, x.p.rail.registered.domain
	e.home = &rail{index: 1}
	x.p.rail.registered.domain = &scarce{registrar: there}
	check := question(recordCheck, transport.Header{A: m.key.Addr, B: m.key.Token, C: 8}, 9, byte(transport.AccessWrite))
	ask := func() answer {
		r, _, err := parseRecord(check)
		require.NoError(t, err)
		x.p.bulk.answers = nil
		require.NoError(t, x.p.serve(&r))
		require.Len(t, x.p.bulk.answers, 1)
		return x.p.bulk.answers[0]
	}
	refused := ask()
	require.Equal(t, answer{recordChecked, transport.Header{B: statusRefused, C: 9}}, refused)
	require.True(t, x.t.complained)
	o := &operation{kind: operationPut, id: 9, data: make([]byte, 8), uncertain: true, asked: true}
	x.p.bulk.all[9] = o
	o.answered(x.p, &refused.header)
	require.Len(t, x.t.finished, 1)
	require.ErrorIs(t, x.t.finished[0].err, errRefused)
	require.NotErrorIs(t, x.t.finished[0].err, transport.ErrBadKey)
	// If the rail is removed, the answer makes the peer ask again. If the adapter can register the memory, the
	// owner answers with the address of the memory.
	x.p.rail.removed = true
	require.EqualValues(t, statusGood, ask().header.B&statusMask)
	x.p.rail.removed = false
	x.p.rail.registered.domain = there
	require.EqualValues(t, statusGood, ask().header.B&statusMask)
	require.Contains(t, e.others, x.p.rail)
	e.home = home
	x.t.finished, x.p.bulk.answers = nil, nil
}

// TestGetOnAConnectionWithoutReads continues a Get on a connection that allows no Reads. The test checks that the Get
// ends with ErrNotSupported.
func TestGetOnAConnectionWithoutReads(t *testing.T) {
	x := newExposedTest(t)
	x.p.link, x.p.depth = &link{rail: x.p.rail}, 0
	defer func() { x.p.link = nil }()
	o := &operation{kind: operationGet, id: 9, data: make([]byte, 8), interrupted: true, uncertain: true, asked: true}
	x.p.bulk.all[o.id] = o
	o.answered(x.p, &transport.Header{B: statusGood, C: uint64(o.id)})
	require.Len(t, x.t.finished, 1)
	require.ErrorIs(t, x.t.finished[0].err, transport.ErrNotSupported)
	require.Empty(t, x.p.bulk.moving)
	x.t.finished = nil
}

// never is a registrar that fails the test if memory is registered.
type never struct{ testing.TB }

func (n never) Register([]byte, verbs.Access) (*verbs.MemoryRegion, error) {
	n.Error("memory is registered")
	return nil, verbs.ErrInvalidHandle
}

// TestKeyOnARemovedAdapter has a peer ask for the key of memory on an adapter that was removed. The test checks that
// the rank answers without a registration, because the registration would wait for the close of the adapter.
func TestKeyOnARemovedAdapter(t *testing.T) {
	x := newExposedTest(t)
	m, on := x.memory[0], x.p.rail
	e := x.t.exposed[m.key.Token]
	home, there := e.home, on.registered.domain
	e.home, on.removed, on.registered.domain = &rail{index: 1}, true, never{t}
	for kind, want := range map[recordKind]answer{
		recordKey:   {recordKeyed, transport.Header{B: statusRefused, C: 9}},
		recordCheck: {recordChecked, transport.Header{B: statusGood, C: 9}}, // the peer asks again on the next connection
	} {
		r, _, err := parseRecord(question(kind, transport.Header{A: m.key.Addr, B: m.key.Token, C: 8}, 9, byte(transport.AccessRead)))
		require.NoError(t, err)
		require.NoError(t, x.p.serve(&r))
		require.Equal(t, []answer{want}, x.p.bulk.answers)
		x.p.bulk.answers = nil
	}
	require.False(t, x.t.complained)
	e.home, on.removed, on.registered.domain = home, false, there
}

// TestQuestionsHaveABound checks that a question is reported as damaged if answersMax earlier questions of the peer
// are not answered yet.
func TestQuestionsHaveABound(t *testing.T) {
	x := newExposedTest(t)
	r, _, err := parseRecord(question(recordCheck, transport.Header{}, 1, 1))
	require.NoError(t, err)
	for range answersMax {
		require.NoError(t, x.p.serve(&r))
	}
	require.ErrorIs(t, x.p.serve(&r), transport.ErrDamaged)
	require.Len(t, x.p.bulk.answers, answersMax)
}

// FuzzMemoryRecords passes arbitrary records about memory to a rank. It checks that the answers and the changes
// of memory agree with the model, and that every error is ErrDamaged.
func FuzzMemoryRecords(f *testing.F) {
	x := newExposedTest(f)
	for i, b := range x.questions() {
		if i%37 == 0 {
			f.Add(b)
		}
	}
	whole := question(recordFetch, transport.Header{A: x.memory[2].key.Addr, B: x.memory[2].key.Token, C: 1}, 1, 0)
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add(question(recordFetched, transport.Header{A: 1, C: 1}, 1, 0))
	f.Add(question(recordChecked, transport.Header{B: statusBadKey, C: 1}, 1, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= recordBytes {
			// Most random keys would name no memory. The fuzzer therefore treats the token as the index of
			// exposed memory.
			if n := int(binary.LittleEndian.Uint64(b[16:])); n >= 0 && n < len(x.memory) {
				b = bytes.Clone(b)
				binary.LittleEndian.PutUint64(b[8:], x.memory[n].key.Addr+binary.LittleEndian.Uint64(b[8:]))
				binary.LittleEndian.PutUint64(b[16:], x.memory[n].key.Token)
			}
		}
		if err := x.serve(t, b); err != nil {
			require.ErrorIs(t, err, transport.ErrDamaged)
		}
	})
}
