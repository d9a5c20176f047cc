package verbstest

import (
	"encoding/binary"
	"errors"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// providerRules contains rules about behaviour in which an adapter in hardware differs from a
// protocol stack in user space. An adapter in hardware takes work before it can start it, reports
// completed work by number, and supports only some of the optional operations.
var providerRules = []statement{
	{0, "immediate_data_come_with_a_receive", testImmediate},
	{0, "immediate_data_wait_for_a_receive", testImmediateWaits},
	{0, "atomics_return_what_was_there", testAtomics},
	{0, "atomics_need_the_right_of_access", testAtomicAccess},
	{0, "messages_of_shared_receives_keep_their_order", testSharedOrder},
	{0, "what_is_granted_can_be_used_and_no_more", testGranted},
	{0, "nothing_is_lost_while_nobody_polls", testUnpolled},
	{0, "unsignalled_requests_make_room_and_end", testUnsignalled},
	{0, "registration_goes_on_beside_everything", testRegistration},
	{0, "what_happens_to_a_device_is_told", testDeviceEvents},
	{0, "the_removal_of_a_device_ends_everything", testRemoval},
}

// lacks begins the test of an optional operation. The argument named has says whether the adapter
// supports the operation. The argument named what is the name of the operation. If has is true,
// lacks does nothing. If has is false, lacks checks that the adapter refuses the request w, and
// skips the rest of the test.
func (r *rig) lacks(what string, has bool, w *verbs.WorkRequest) {
	r.Helper()
	if has {
		return
	}
	m := r.connected()
	r.is(what, m.active.Post(w), verbs.ErrModelNotSupported)
	r.talk(m)
	r.Skip("this provider has no " + what)
}

func testImmediate(r *rig) {
	const n = 64
	r.lacks("immediate data", r.a.limits.ImmediateData, &verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagImmediate})
	m := r.connected()
	remote := r.p.region.Remote(2*n, n)
	copy(r.a.memory, pattern(1, n))
	for i, flags := range []verbs.RequestFlags{0, verbs.FlagSolicited, verbs.FlagUnsignalled} {
		immediate := 0xfedc0000 + uint32(i)
		seen := flags & verbs.FlagSolicited
		if r.p.limits.HidesFlags {
			seen = 0
		}
		for id := range uint64(3) {
			r.p.receive(m.passive, id, 0, n)
		}
		clear(r.p.memory[:3*n])
		_, err := m.active.PostList([]verbs.WorkRequest{
			{ID: 1, Op: verbs.OpSend, Flags: flags | verbs.FlagImmediate, Segments: []verbs.Segment{r.a.region.Segment(0, n)}, Immediate: immediate},
			{
				ID: 2, Op: verbs.OpWrite, Flags: flags | verbs.FlagImmediate, Segments: []verbs.Segment{r.a.region.Segment(0, n)},
				RemoteAddress: remote.Address, RKey: remote.RKey, Immediate: ^immediate,
			},
			{ID: 3, Op: verbs.OpSend, Flags: verbs.FlagImmediate, Immediate: 7},
		})
		r.ok("post", err)
		sent := r.p.done(m.passive, verbs.StreamReceive, 0, verbs.StatusSuccess)
		r.equal("length, number, operation and flags of a Send", [4]any{sent.Length, sent.Immediate, sent.Op, sent.Flags},
			[4]any{n, immediate, verbs.OpReceive, verbs.FlagImmediate | seen})
		r.equal("bytes sent", string(r.p.memory[:n]), string(pattern(1, n)))
		written := r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess)
		r.equal("length, number, operation and flags of a Write", [4]any{written.Length, written.Immediate, written.Op, written.Flags},
			[4]any{n, ^immediate, verbs.OpReceiveWrite, verbs.FlagImmediate | seen})
		r.equal("bytes written", string(r.p.memory[2*n:3*n]), string(pattern(1, n)))
		r.equal("number without bytes", r.p.done(m.passive, verbs.StreamReceive, 2, verbs.StatusSuccess).Immediate, uint32(7))
		for id := uint64(1); id <= 3; id++ {
			if id == 3 || flags&verbs.FlagUnsignalled == 0 {
				r.a.done(m.active, verbs.StreamRequest, id, verbs.StatusSuccess)
			}
		}
	}
	r.is("with an invalidate", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagImmediate | verbs.FlagInvalidate}), verbs.ErrInvalidParameter)
	r.is("of a Read", m.active.Post(&verbs.WorkRequest{Op: verbs.OpRead, Flags: verbs.FlagImmediate}), verbs.ErrInvalidParameter)
	r.talk(m)
}

func testImmediateWaits(r *rig) {
	if !r.a.limits.ImmediateData || !r.a.limits.WaitsForReceive {
		r.Skip("this provider has no immediate data, or does not wait for receives")
	}
	m := r.connected()
	r.ok("post", m.active.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Flags: verbs.FlagImmediate, Immediate: 9}))
	r.quiet()
	r.p.receive(m.passive, 2, 0, 0)
	r.equal("number", r.p.done(m.passive, verbs.StreamReceive, 2, verbs.StatusSuccess).Immediate, uint32(9))
	r.a.done(m.active, verbs.StreamRequest, 1, verbs.StatusSuccess)
}

// word registers 16 bytes on side p with the given access. Atomics use the first 8 of them.
func (r *rig) word(access verbs.Access) *verbs.MemoryRegion {
	r.Helper()
	return must[*verbs.MemoryRegion](r, "register")(r.p.domain.Register(make([]byte, 16), access))
}

func testAtomics(r *rig) {
	r.lacks("atomics", r.a.limits.Atomics, &verbs.WorkRequest{Op: verbs.OpFetchAdd, Segments: []verbs.Segment{r.a.region.Segment(0, 8)}})
	m := r.connected()
	word := r.word(verbs.AccessLocalWrite | verbs.AccessRemoteAtomic)
	remote, into := word.Remote(0, 8), r.a.region.Segment(0, 8)
	at := func() uint64 { return binary.NativeEndian.Uint64(word.Bytes()) }
	binary.NativeEndian.PutUint64(word.Bytes(), 1<<40)
	for i, step := range []struct {
		op                       verbs.Opcode
		compare, swap, old, then uint64
	}{
		{verbs.OpFetchAdd, 99, 5, 1 << 40, 1<<40 + 5},
		{verbs.OpFetchAdd, 0, ^uint64(0), 1<<40 + 5, 1<<40 + 4},
		{verbs.OpCompareSwap, 1<<40 + 4, 8, 1<<40 + 4, 8},
		{verbs.OpCompareSwap, 9, 10, 8, 8},
	} {
		r.ok("post", m.active.Post(&verbs.WorkRequest{
			ID: uint64(i), Op: step.op, Segments: []verbs.Segment{into}, RemoteAddress: remote.Address, RKey: remote.RKey, Compare: step.compare, Swap: step.swap,
		}))
		c := r.a.done(m.active, verbs.StreamRequest, uint64(i), verbs.StatusSuccess)
		r.equal("length and operation", [2]any{c.Length, c.Op}, [2]any{8, step.op})
		r.equal("what was there", binary.NativeEndian.Uint64(into.Data), step.old)
		r.equal("what is there", at(), step.then)
	}
	// Atomics count as Reads. The test posts more atomics than may be in flight.
	n := min(r.a.attributes().MaxRequests, 3*m.activeEvent.InitiatorDepth)
	for id := range uint64(n) {
		r.ok("post", m.active.Post(&verbs.WorkRequest{
			ID: id, Op: verbs.OpFetchAdd, Segments: []verbs.Segment{into}, RemoteAddress: remote.Address, RKey: remote.RKey, Swap: 1,
		}))
	}
	for id := range uint64(n) {
		r.a.done(m.active, verbs.StreamRequest, id, verbs.StatusSuccess)
	}
	r.equal("sum", at(), uint64(8+n))
	for what, w := range map[string]verbs.WorkRequest{
		"odd address": {RemoteAddress: remote.Address + 4, Segments: []verbs.Segment{into}},
		"four bytes":  {RemoteAddress: remote.Address, Segments: []verbs.Segment{r.a.region.Segment(0, 4)}},
		"two pieces":  {RemoteAddress: remote.Address, Segments: []verbs.Segment{r.a.region.Segment(0, 4), r.a.region.Segment(4, 4)}},
		"nothing":     {RemoteAddress: remote.Address},
		"inline":      {RemoteAddress: remote.Address, Segments: []verbs.Segment{into}, Flags: verbs.FlagInline},
	} {
		w.Op, w.RKey = verbs.OpCompareSwap, remote.RKey
		r.is(what, m.active.Post(&w), verbs.ErrInvalidParameter)
	}
}

func testAtomicAccess(r *rig) {
	if !r.a.limits.Atomics {
		_, err := r.p.domain.Register(make([]byte, 8), verbs.AccessLocalWrite|verbs.AccessRemoteAtomic)
		r.is("register", err, verbs.ErrModelNotSupported)
		r.Skip("this provider has no atomics")
	}
	_, err := r.p.domain.Register(make([]byte, 8), verbs.AccessRemoteAtomic)
	r.is("not writable here", err, verbs.ErrInvalidParameter)
	m := r.connected()
	remote := r.word(verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite).Remote(0, 8)
	r.ok("post", m.active.Post(&verbs.WorkRequest{
		ID: 1, Op: verbs.OpFetchAdd, Segments: []verbs.Segment{r.a.region.Segment(0, 8)}, RemoteAddress: remote.Address, RKey: remote.RKey,
	}))
	r.a.done(m.active, verbs.StreamRequest, 1, verbs.StatusRemoteAccess)
	r.a.expect(m.active, verbs.EventBroken, verbs.StateDisconnected)
}

// testSharedOrder sends numbered messages on two connections whose passive endpoints share a
// receive queue. In each iteration the messages consume all receives before receives are posted
// again.
func testSharedOrder(r *rig) {
	const rounds, slots = 5, 8
	shared := r.shared(nil)
	use := func(c *verbs.EndpointConfig) { c.SharedReceives = shared }
	pairs := []*meeting{r.meet(r.a.endpoint(), r.p.endpoint(use), nil, nil), r.meet(r.a.endpoint(), r.p.endpoint(use), nil, nil)}
	post := func(id uint64) {
		r.ok("post", shared.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{r.p.region.Segment(int(id)*8, 8)}}))
	}
	for id := range uint64(slots) {
		post(id)
	}
	var posted, came [2]byte
	for range rounds {
		for i := range slots {
			k := i % 2
			r.a.memory[i] = posted[k]
			posted[k]++
			r.a.send(pairs[k].active, 1, i, 1)
		}
		used := make([]uint64, 0, slots)
		for i := range slots {
			k := i % 2
			c := r.p.completion(pairs[k].passive, verbs.StreamReceive)
			r.equal("length and status", [2]any{c.Length, c.Status}, [2]any{1, verbs.StatusSuccess})
			r.equal("number of the message in the receive named", r.p.memory[c.ID*8], came[k])
			came[k]++
			used = append(used, c.ID)
			r.a.completion(pairs[k].active, verbs.StreamRequest)
		}
		r.equal("left", shared.Len(), 0)
		for _, id := range used {
			post(id)
		}
	}
}

func testGranted(r *rig) {
	m := r.connected()
	asked := r.a.attributes()
	info := must[verbs.EndpointInfo](r, "query")(m.active.Query())
	granted := info.Attributes
	for what, n := range map[string][2]int{
		"requests": {granted.MaxRequests, asked.MaxRequests}, "receives": {granted.MaxReceives, asked.MaxReceives},
		"request segments": {granted.MaxRequestSegments, asked.MaxRequestSegments}, "inline": {granted.MaxInline, asked.MaxInline},
		"receive segments": {granted.MaxReceiveSegments, asked.MaxReceiveSegments},
	} {
		r.that(n[0] <= n[1] && n[0] > 0, "%d %s are granted, %d were asked for", n[0], what, n[1])
	}
	for i := range granted.MaxReceives {
		r.p.receive(m.passive, uint64(i), 0, granted.MaxRequestSegments)
	}
	list := make([]verbs.Segment, 0, granted.MaxRequestSegments+1)
	for i := range granted.MaxRequestSegments {
		list = append(list, r.a.region.Segment(i, 1))
	}
	r.ok("segments", m.active.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend, Segments: list}))
	r.is("one segment more", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: append(list, list[0])}), verbs.ErrInvalidParameter)
	r.equal("length", r.p.done(m.passive, verbs.StreamReceive, 0, verbs.StatusSuccess).Length, len(list))
	r.a.done(m.active, verbs.StreamRequest, 1, verbs.StatusSuccess)
	remote := r.p.region.Remote(0, granted.MaxInline)
	inline := func(n int) error {
		return m.active.Post(&verbs.WorkRequest{
			ID: 2, Op: verbs.OpWrite, Flags: verbs.FlagInline, Segments: []verbs.Segment{{Data: make([]byte, n)}}, RemoteAddress: remote.Address, RKey: remote.RKey,
		})
	}
	r.ok("inline", inline(granted.MaxInline))
	r.is("one inline byte more", inline(granted.MaxInline+1), verbs.ErrInvalidParameter)
	r.a.done(m.active, verbs.StreamRequest, 2, verbs.StatusSuccess)
}

// testUnpolled posts the maximum number of requests on several endpoints of side a, and the receives
// for them on side p, before it polls the first completion. The test would find a completion queue
// that is too small and overflows.
func testUnpolled(r *rig) {
	const count = 4
	pairs := make([]*meeting, 0, count)
	for range count {
		pairs = append(pairs, r.connected())
	}
	n := min(r.a.attributes().MaxRequests, r.p.attributes().MaxReceives)
	for _, m := range pairs {
		for id := range uint64(n) {
			r.p.receive(m.passive, id, 0, 8)
		}
		for id := range uint64(n) {
			r.a.send(m.active, id, 0, 8)
		}
	}
	for _, m := range pairs {
		for id := range uint64(n) {
			r.p.done(m.passive, verbs.StreamReceive, id, verbs.StatusSuccess)
			r.a.done(m.active, verbs.StreamRequest, id, verbs.StatusSuccess)
		}
		r.talk(m)
	}
}

func testUnsignalled(r *rig) {
	m := r.connected()
	depth := r.a.attributes().MaxRequests
	remote := r.p.region.Remote(0, 8)
	write := verbs.WorkRequest{
		Op: verbs.OpWrite, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{r.a.region.Segment(0, 8)}, RemoteAddress: remote.Address, RKey: remote.RKey,
	}
	for range 3*depth + 1 {
		r.pump("room in the queue", func() bool {
			err := m.active.Post(&write)
			r.that(err == nil || errors.Is(err, verbs.ErrInsufficientResources), "post: %v", err)
			return err == nil
		})
	}
	r.ok("disconnect", m.active.Disconnect(verbs.CloseGraceful))
	r.a.expect(m.active, verbs.EventDisconnected, verbs.StateDisconnected)
	r.p.expect(m.passive, verbs.EventDisconnected, verbs.StateDisconnected)
	r.equal("completions", len(r.a.log), 0)
}

func testRegistration(r *rig) {
	m := r.connected()
	const turns = 50
	r.all(5, func(i int) error {
		if i == 0 {
			for id := range uint64(turns) {
				r.p.receive(m.passive, id, 0, 8)
				r.a.send(m.active, id, 0, 8)
				r.p.done(m.passive, verbs.StreamReceive, id, verbs.StatusSuccess)
				r.a.done(m.active, verbs.StreamRequest, id, verbs.StatusSuccess)
			}
			return nil
		}
		for range turns {
			region, err := r.a.domain.Register(make([]byte, 4096*i), verbs.AccessLocalWrite|verbs.AccessRemoteRead)
			if err == nil {
				err = region.Close()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	d := must[*verbs.ProtectionDomain](r, "domain")(r.a.adapter.NewProtectionDomain())
	r.all(2, func(i int) error {
		if i == 0 {
			if err := d.Free(); !errors.Is(err, verbs.ErrInvalidState) {
				return err
			}
			return nil
		}
		region, err := d.Register(make([]byte, 8), 0)
		if errors.Is(err, verbs.ErrInvalidHandle) {
			return nil
		}
		return errors.Join(err, region.Close())
	})
}

// device returns a scene that makes devices report events. It skips the test if the provider
// cannot produce such events.
func (r *rig) device() Scene {
	r.Helper()
	scene, ok := r.harness.Inject(r, FaultDevice)
	if !ok {
		r.Skip("this provider is told nothing of its device")
	}
	return scene
}

// told waits for the next event of the side's adapter as a whole.
func (s *side) told() *verbs.Event {
	s.rig.Helper()
	return s.next("event of the adapter", func(c *logged) bool { return c.Stream == verbs.StreamAdapter }).Event
}

func testDeviceEvents(r *rig) {
	scene := r.device()
	scene.Happen(r.p.adapter, provider.Event{Kind: provider.EventPortDown}) // no queue takes the event
	r.quiet()
	r.ok("watch", r.p.adapter.Watch(r.p.connections))
	m := r.connected()
	for kind, want := range map[provider.EventKind]verbs.EventType{
		provider.EventPortDown: verbs.EventPortDown, provider.EventPortUp: verbs.EventPortUp, provider.EventAddressChanged: verbs.EventAddressChanged,
	} {
		scene.Happen(r.p.adapter, provider.Event{Kind: kind, Err: errReset})
		e := r.p.told()
		r.equal("event", e.Type, want)
		r.is("cause", e.Err, errReset)
		r.talk(m)
	}
	r.is("free a queue in use", r.p.connections.Free(), verbs.ErrInvalidState)
	r.is("a queue of another adapter", r.p.adapter.Watch(r.a.connections), verbs.ErrInvalidHandle)
	q := r.p.queue(4)
	r.ok("watch another queue", r.p.adapter.Watch(q))
	r.ok("watch nothing", r.p.adapter.Watch(nil))
	r.ok("free", q.Free())
}

func testRemoval(r *rig) {
	scene := r.device()
	r.ok("watch", r.p.adapter.Watch(r.p.connections))
	m := r.connected()
	r.p.receive(m.passive, 1, 0, 8)
	scene.Happen(r.p.adapter, provider.Event{Kind: provider.EventRemoved, Err: errReset})
	e := r.p.told()
	r.equal("event", e.Type, verbs.EventRemoved)
	r.is("event", e.Err, verbs.ErrRemoved)
	r.is("cause", e.Err, errReset)
	r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusFlushed)
	r.p.expect(m.passive, verbs.EventBroken, verbs.StateError)
	r.is("queue", r.p.requests.Err(), verbs.ErrRemoved)
	_, err := r.p.adapter.NewEndpoint(r.p.config())
	r.is("new endpoint", err, verbs.ErrInvalidHandle)
	r.a.expect(m.active, verbs.EventBroken, verbs.StateDisconnected)
}
