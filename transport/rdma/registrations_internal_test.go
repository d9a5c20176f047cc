package rdma

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// wideArena is an arena that uses little memory: all its parts are the same bytes.
type wideArena struct {
	size   int
	memory []byte
}

func (a *wideArena) Size() int                      { return a.size }
func (a *wideArena) Bytes(_, n int) ([]byte, error) { return a.memory[:n], nil }

// newStore returns registrations with an arena. The argument chunks is the size of the arena in chunks. The
// argument most is the maximum number of bytes that stay registered.
func newStore(t *testing.T, chunks, most int) *registrations {
	t.Helper()
	return newStores(t, 1, chunks, most)[0]
}

// newStores returns the registrations of several rails. The argument rails is the number of rails.
func newStores(t *testing.T, rails, chunks, most int) []*registrations {
	t.Helper()
	pool := newPinned([]*rail{{}, {limits: verbs.Attributes{PinsMemory: true, MaxPinned: 2 * most}}, {limits: verbs.Attributes{PinsMemory: true}}})
	stores := make([]*registrations, rails)
	for i := range stores {
		stores[i] = addStore(t, byte(i+1), chunks, pool)
	}
	return stores
}

func addStore(t *testing.T, host byte, chunks int, pool *pinned) *registrations {
	t.Helper()
	addr := netip.AddrFrom4([4]byte{10, 0, 0, host})
	a, err := verbs.Open(&verbstest.Host{Network: verbstest.NewNetwork(verbstest.StyleIWARP), Addr: addr, PinsMemory: true}, "")
	require.NoError(t, err)
	d, err := a.NewProtectionDomain()
	require.NoError(t, err)
	limits := a.Attributes()
	r, err := newRegistrations(d, &limits, pool, nil, -1)
	require.NoError(t, err)
	w := &wideArena{size: chunks * arenaChunk, memory: make([]byte, chunks*arenaChunk)}
	r.arena = struct {
		*wideArena
		unusedArena
	}{w, unusedArena{}}
	t.Cleanup(func() {
		require.NoError(t, a.Close())
		r.close()
		require.Empty(t, r.lasting)
		require.Empty(t, r.kept)
		require.Zero(t, r.bytes)
	})
	return r
}

// TestOldestPartGoesFirst checks that registered memory has a bound, that the least recently used part is
// evicted first, and that a part in use is never evicted. It also checks the count of parts that were found.
func TestOldestPartGoesFirst(t *testing.T) {
	r := newStore(t, 6, 3*arenaChunk)
	use := func(chunk int) *lasting { return r.stay(chunk*arenaChunk+5, chunk*arenaChunk+10, r.own) }
	end := func(m *lasting) { require.NoError(t, r.give(registration{m.region, 0, m})) }
	chunks := func() []int {
		var all []int
		for _, m := range r.lasting {
			all = append(all, m.from/arenaChunk)
		}
		return all
	}
	zero := use(0)
	end(use(1))
	end(use(2))
	end(use(1))
	end(use(1))
	require.Equal(t, 2, r.counts.found, "1, before and after it was the most recent part")
	require.Equal(t, 3*arenaChunk, r.bytes)
	end(use(3))
	require.ElementsMatch(t, []int{0, 1, 3}, chunks(), "2 was the least recently used")
	one, three := use(1), use(3)
	require.Nil(t, use(4), "all are in use")
	require.ElementsMatch(t, []int{0, 1, 3}, chunks())
	require.Equal(t, 1, r.counts.evicted)
	end(zero)
	end(one)
	end(three)
	require.Nil(t, r.stay(0, 4*arenaChunk, r.own), "more than may stay registered")
	require.ElementsMatch(t, []int{0, 1, 3}, chunks(), "nothing is evicted for it")
	// A part that lies within a larger part is deregistered when nothing uses it.
	five := use(5)
	end(use(4))
	wide := r.stay(4*arenaChunk, 6*arenaChunk, r.own)
	require.ElementsMatch(t, []*lasting{five, wide}, r.lasting)
	require.Same(t, wide, use(4))
	// The same part with other access rights is another registration.
	r.read = verbs.AccessRemoteRead
	end(wide)
	end(wide)
	end(r.stay(4*arenaChunk, 6*arenaChunk-1, r.own))
	r.pool.most *= 3
	readable := r.stay(4*arenaChunk, 6*arenaChunk, r.read)
	require.NotSame(t, wide, readable)
	require.Contains(t, r.lasting, wide)
	require.Equal(t, verbs.AccessRemoteRead, readable.access)
}

// TestRailsShareThePinnedMemory checks that all rails together register no more bytes than the bound of the
// process allows, and that the least recently used part of any rail is evicted.
func TestRailsShareThePinnedMemory(t *testing.T) {
	stores := newStores(t, 2, 6, 3*arenaChunk)
	use := func(rail, chunk int) {
		r := stores[rail]
		m := r.stay(chunk*arenaChunk, chunk*arenaChunk+1, r.own)
		require.NotNil(t, m)
		require.NoError(t, r.give(registration{lasting: m}))
		require.LessOrEqual(t, stores[0].bytes+stores[1].bytes, 3*arenaChunk)
	}
	use(0, 0)
	use(0, 1)
	use(1, 0)
	use(1, 1)
	require.Len(t, stores[0].lasting, 1)
	require.Equal(t, arenaChunk, stores[0].lasting[0].from)
	require.Len(t, stores[1].lasting, 2)
	for chunk := range 3 {
		use(1, chunk)
	}
	require.Empty(t, stores[0].lasting)
	require.Equal(t, 2, stores[0].counts.evicted)
	// A registration for one operation evicts parts of the other rail, too.
	stores[0].domain = &scarce{registrar: stores[0].domain}
	_, err := stores[0].alone(make([]byte, 1), verbs.AccessLocalWrite)
	require.Error(t, err)
	require.Empty(t, stores[1].lasting)
	// Discard also deregisters a chunk that only the other rail has registered, if nothing uses the chunk.
	use(1, 4)
	stores[0].arena, stores[1].arena = nil, nil
	a := &pinnedArena{&discarded{}, stores[0].pool}
	require.NoError(t, a.Discard(4*arenaChunk, 4096))
	require.Empty(t, stores[1].lasting)
	require.Zero(t, stores[0].pool.bytes)
}

// slowEnd is a provider whose devices take a long time to close.
type slowEnd struct {
	provider.Provider
	entered, gate chan struct{}
}

type slowDevice struct {
	provider.Device
	of *slowEnd
}

func (s *slowEnd) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := s.Provider.Open(name, a)
	return slowDevice{d, s}, err
}

func (d slowDevice) Close() error {
	close(d.of.entered)
	<-d.of.gate
	return d.Device.Close()
}

// TestRemovedAdapterIsNotWaitedFor closes a removed adapter slowly, with the adapter's lock held. The test
// checks that evicting and giving back memory of this adapter does not wait for the lock.
func TestRemovedAdapterIsNotWaitedFor(t *testing.T) {
	network := verbstest.NewNetwork(verbstest.StyleInfiniBand)
	slow := &slowEnd{entered: make(chan struct{}), gate: make(chan struct{})}
	var own []Rail
	for i := range 2 {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		host := &verbstest.Host{Network: network, Addr: addr, PinsMemory: true}
		own = append(own, Rail{Provider: host, Interface: addr.String(), Fabric: []string{"roce", FabricTCP}[i]})
	}
	slow.Provider, own[0].Provider = own[0].Provider, slow
	tr, err := New(Config{
		Size: 2, Job: "test", Secret: []byte("secret"), Rails: own, CopyBelow: -1,
		Lookup: func(int) ([]Location, error) { return nil, nil }, Sleeper: new(transport.ChannelSleeper),
	})
	require.NoError(t, err)
	r := tr.rails[0].registered
	w := &wideArena{size: arenaChunk, memory: make([]byte, arenaChunk)}
	r.arena = struct {
		*wideArena
		unusedArena
	}{w, unusedArena{}}
	single, err := r.alone(make([]byte, 8), verbs.AccessLocalWrite)
	require.NoError(t, err)
	used := r.stay(0, 8, r.own)
	require.NoError(t, r.give(registration{lasting: r.stay(0, 8, r.own)}))
	require.True(t, tr.rails[0].remove(errPortDown))
	<-slow.entered
	done := make(chan error)
	go func() {
		tr.pinned.evict()
		done <- errors.Join(r.give(registration{lasting: used}), r.give(single))
	}()
	select {
	case err = <-done:
	case <-time.After(10 * time.Second):
		err = errors.New("it waits for the adapter")
		defer func() { <-done }()
	}
	close(slow.gate)
	require.NoError(t, err)
	require.Zero(t, tr.pinned.bytes)
	require.NoError(t, tr.Close())
}

// discarded is an arena whose only usable method is Discard.
type discarded struct{ transport.Arena }

func (*discarded) Discard(int, int) error { return nil }

// scarce is a domain with room for a limited number of registrations. It counts the registrations that it
// refuses.
type scarce struct {
	registrar
	room, refused int
}

func (s *scarce) Register(data []byte, access verbs.Access) (*verbs.MemoryRegion, error) {
	if s.room == 0 {
		s.refused++
		return nil, verbs.ErrInsufficientResources
	}
	s.room--
	return s.registrar.Register(data, access)
}

// TestExposuresLeavePieces checks that exposures take at most half of the pieces (type bounces), however few pieces can
// be registered. The other half is left for operations. The test also checks that a failed registration is not tried
// again at each use.
func TestExposuresLeavePieces(t *testing.T) {
	for _, c := range []struct{ room, total, refused int }{
		{1, bouncesAtOnce, 1},
		{2, 2 * bouncesAtOnce, 1},
		{bouncesMost, bouncesMost, 0},
	} {
		r := newStore(t, 1, arenaChunk)
		domain := &scarce{registrar: r, room: c.room}
		s := &bounces{domain: domain, access: r.own, most: bouncesMost}
		var exposed, taken []bounce
		for b, ok := s.expose(); ok; b, ok = s.expose() {
			exposed = append(exposed, b)
		}
		for b, ok := s.take(); ok; b, ok = s.take() {
			taken = append(taken, b)
		}
		require.Len(t, exposed, c.total/2)
		require.Len(t, taken, c.total/2)
		for range 3 {
			require.False(t, s.ready())
			_, ok := s.expose()
			require.False(t, ok)
		}
		require.Equal(t, c.refused, domain.refused)
		s.give(taken[0])
		_, ok := s.expose()
		require.False(t, ok, "what an operation gives back is for operations")
		s.conceal(exposed[0])
		_, ok = s.expose()
		require.True(t, ok)
	}
}

// TestPiecesEvict checks that an unused part of the arena is evicted when there is no room to register pieces (type
// bounces).
func TestPiecesEvict(t *testing.T) {
	r := newStore(t, 1, 2*arenaChunk)
	domain := &scarce{registrar: r.domain, room: 1}
	r.domain = domain
	require.NoError(t, r.give(registration{lasting: r.stay(0, 1, r.own)}))
	require.Len(t, r.lasting, 1)
	require.Error(t, r.bounces.grow())
	require.Empty(t, r.lasting)
	require.Equal(t, 1, r.counts.evicted)
}

// TestCrossing checks the computed length from which on registering memory costs less than copying it.
func TestCrossing(t *testing.T) {
	const short, long = 1 << 16, 1 << 18
	for _, c := range []struct {
		name                string
		constant, page, one float64 // constant in ns, page and one in ns per byte
		want                int
	}{
		{"a copy of 10 GB/s, 5 µs and 0.02 ns for each byte", 5000, 0.02, 0.1, 62500},
		{"registering costs nothing", 0, 0, 0.1, 0},
		{"each page costs more than its copy", 100, 0.2, 0.1, copyMost},
		{"as much", 100, 0.1, 0.1, copyMost},
		{"a registration of a second", 1e9, 0, 0.1, copyMost},
		{"measured less for more", 5000, -0.001, 0.1, 49344},
	} {
		got := crossing(c.constant+c.page*short, c.constant+c.page*long, c.one*long, short, long)
		require.InDelta(t, c.want, got, 1, c.name)
	}
}

// TestMeasureCopies checks that the measured length is within the permitted range. The value depends on the
// host.
func TestMeasureCopies(t *testing.T) {
	r := newStore(t, 1, arenaChunk)
	n := measureCopies(r.domain)
	require.GreaterOrEqual(t, n, 0)
	require.LessOrEqual(t, n, copyMost)
}

// TestMarkerOvertakesWrites checks when a Put ends. The acknowledgement of its marker is not sufficient: its
// RDMA Writes have to be complete as well, because the adapter may have to send the Writes again. A Put whose
// marker is acknowledged succeeds even if the connection is lost then.
func TestMarkerOvertakesWrites(t *testing.T) {
	x := newExposedTest(t)
	p, data := x.p, make([]byte, 8)
	begin := func(id uint32) *operation {
		o := &operation{kind: operationPut, id: id, data: data}
		o.transfer.Begin(len(data), true)
		o.transfer.Post(stripe.Main, len(data))
		o.transfer.Mark(stripe.Main)
		p.bulk.all[id], p.bulk.writing = o, 1
		return o
	}
	o := begin(1)
	o.marked(p)
	require.Empty(t, x.t.finished)
	p.bulk.moved(p, idWrite, 1, verbs.StatusSuccess)
	require.Len(t, x.t.finished, 1)
	require.NoError(t, x.t.finished[0].err)

	// Now the Writes are complete before the marker is acknowledged. In the last case the connection is lost
	// after the acknowledgement.
	o = begin(2)
	p.bulk.moved(p, idWrite, 2, verbs.StatusSuccess)
	require.Len(t, x.t.finished, 1)
	o.marked(p)
	require.Len(t, x.t.finished, 2)
	o = begin(3)
	o.marked(p)
	p.bulk.interrupt(p)
	require.Len(t, x.t.finished, 3)
	require.NoError(t, x.t.finished[2].err)
	require.Empty(t, p.bulk.all)
	x.t.finished = nil
}

// unusedArena has the methods of an arena that the tests do not call.
type unusedArena struct{}

func (unusedArena) Discard(int, int) error    { panic("unused") }
func (unusedArena) Key(int) transport.Key     { panic("unused") }
func (unusedArena) Offset([]byte) (int, bool) { panic("unused") }
