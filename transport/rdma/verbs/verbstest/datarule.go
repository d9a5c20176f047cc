package verbstest

import (
	"bytes"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// dataRules contains the rules about posted work.
var dataRules = []statement{
	{0, "gather_and_scatter_in_order", func(r *rig) {
		m := r.connected()
		s, t := r.a.region, r.p.region
		copy(r.a.memory, pattern(1, 300))
		r.ok("receive", m.passive.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{t.Segment(1000, 7), {}, t.Segment(2000, 200)}}))
		r.ok("send", m.active.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend, Segments: []verbs.Segment{s.Segment(10, 5), s.Segment(100, 0), s.Segment(200, 60)}}))
		c := r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess)
		r.equal("length", c.Length, 65)
		want := append(bytes.Clone(r.a.memory[10:15]), r.a.memory[200:260]...)
		got := append(bytes.Clone(r.p.memory[1000:1007]), r.p.memory[2000:2058]...)
		r.equal("bytes", string(got), string(want))
	}},
	{0, "write_then_send_and_read", testWriteAndRead},
	{0, "empty_operations_are_legal", testEmptyOperations},
	{0, "large_operations_arrive_whole", testLargeOperations},
	{0, "four_kinds_of_send", testKindsOfSend},
	{0, "inline_needs_no_region", func(r *rig) {
		m := r.connected()
		n := r.a.attributes().MaxInline
		if n == 0 {
			r.is("inline", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagInline, Segments: []verbs.Segment{{Data: make([]byte, 1)}}}), verbs.ErrInvalidParameter)
			return
		}
		r.p.receive(m.passive, 1, 0, 64)
		mine := pattern(4, n)
		r.ok("send", m.active.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend, Flags: verbs.FlagInline, Segments: []verbs.Segment{{Data: mine[:1]}, {Data: mine[1:]}}}))
		clear(mine)
		r.equal("length", r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess).Length, n)
		r.equal("bytes", string(r.p.memory[:n]), string(pattern(4, n)))
		w := verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagInline, Segments: []verbs.Segment{{Data: make([]byte, n+1)}}}
		r.is("too long", m.active.Post(&w), verbs.ErrInvalidParameter)
		w.Op, w.Segments = verbs.OpRead, nil
		r.is("read", m.active.Post(&w), verbs.ErrInvalidParameter)
	}},
	{0, "reads_and_fenced_sends_keep_the_order_of_posting", testOrder},
	{0, "unsignalled_requests_complete_in_silence", func(r *rig) {
		m := r.connected()
		attributes := r.a.attributes()
		for round := range uint64(5) {
			for id := range uint64(attributes.MaxRequests - 1) {
				r.p.receive(m.passive, id, 0, 8)
				r.ok("send", m.active.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpSend, Flags: verbs.FlagUnsignalled}))
				r.p.done(m.passive, verbs.StreamReceive, id, verbs.StatusSuccess)
			}
			r.p.receive(m.passive, round, 0, 8)
			r.ok("send", m.active.Post(&verbs.WorkRequest{ID: 1000 + round, Op: verbs.OpSend}))
			r.p.done(m.passive, verbs.StreamReceive, round, verbs.StatusSuccess)
			r.a.done(m.active, verbs.StreamRequest, 1000+round, verbs.StatusSuccess)
		}
		r.quiet()
		r.equal("entries left", len(r.a.log), 0)
		for range attributes.MaxReceives - 1 {
			r.p.receive(m.passive, 0, 0, 8)
		}
		// A flushed request completes even if it is unsignalled.
		r.ok("disconnect", m.active.Disconnect(verbs.CloseAbrupt))
		r.ok("send", m.active.Post(&verbs.WorkRequest{ID: 5, Op: verbs.OpSend, Flags: verbs.FlagUnsignalled}))
		r.a.done(m.active, verbs.StreamRequest, 5, verbs.StatusFlushed)
	}},
	{0, "what_is_wrong_with_a_post", testPostErrors},
	{0, "a_message_longer_than_its_receive_breaks", func(r *rig) {
		m := r.connected()
		r.p.receive(m.passive, 1, 0, 8)
		r.p.receive(m.passive, 2, 0, 8)
		r.a.send(m.active, 3, 0, 9)
		r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusLocalLength)
		r.p.done(m.passive, verbs.StreamReceive, 2, verbs.StatusFlushed)
		r.p.expect(m.passive, verbs.EventBroken, verbs.StateDisconnected)
		r.a.expect(m.active, verbs.EventBroken, verbs.StateDisconnected)
	}},
}

func testWriteAndRead(r *rig) {
	m := r.connected()
	n := r.a.attributes().MaxRDMA / 4
	for i, n := range []int{1, 2, 3, 4, 5, 1459, 1460, 1461, n} {
		copy(r.a.memory, pattern(byte(i), n))
		clear(r.p.memory)
		remote := r.p.region.Remote(n, n)
		r.p.receive(m.passive, 1, 0, 0)
		posted, err := m.active.PostList([]verbs.WorkRequest{
			{ID: 2, Op: verbs.OpWrite, Segments: []verbs.Segment{r.a.region.Segment(0, n)}, RemoteAddress: remote.Address, RKey: remote.RKey},
			{ID: 3, Op: verbs.OpSend},
		})
		r.ok("post", err)
		r.equal("posted", posted, 2)
		// When the Send has arrived, the bytes of the earlier Write have arrived, too.
		r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess)
		r.that(bytes.Equal(r.p.memory[n:2*n], pattern(byte(i), n)), "some of the %d bytes written differ", n)
		r.a.done(m.active, verbs.StreamRequest, 2, verbs.StatusSuccess)
		r.a.done(m.active, verbs.StreamRequest, 3, verbs.StatusSuccess)
		r.ok("read", m.active.Post(&verbs.WorkRequest{
			ID: 4, Op: verbs.OpRead, Segments: []verbs.Segment{r.a.region.Segment(2*n, n)}, RemoteAddress: remote.Address, RKey: remote.RKey,
		}))
		r.equal("length", r.a.done(m.active, verbs.StreamRequest, 4, verbs.StatusSuccess).Length, n)
		r.that(bytes.Equal(r.a.memory[2*n:3*n], pattern(byte(i), n)), "some of the %d bytes read differ", n)
	}
}

// testLargeOperations moves up to 3 MiB and 5 bytes in one operation, mostly at odd offsets.
func testLargeOperations(r *rig) {
	const most, off = 3<<20 + 5, 3
	large := func(c *verbs.EndpointConfig) { c.Attributes.MaxMessage, c.Attributes.MaxRDMA = most, most }
	if r.a.limits.MaxMessage < most || r.a.limits.MaxRDMA < most {
		r.Skip("this provider has no operations of 3 MiB")
	}
	m := r.connected(large)
	access := verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
	source := must[*verbs.MemoryRegion](r, "register")(r.a.domain.Register(make([]byte, 2*most+2*off), access))
	sink := must[*verbs.MemoryRegion](r, "register")(r.p.domain.Register(make([]byte, most+2*off), access))
	for i, n := range []int{65535, 65536, 1<<20 + 1, most} {
		want := pattern(byte(i), n)
		copy(source.Bytes()[off:], want)
		remote := sink.Remote(off, n)
		clear(sink.Bytes())
		r.ok("receive", m.passive.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{sink.Segment(off, n)}}))
		r.ok("send", m.active.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend, Segments: []verbs.Segment{source.Segment(off, n/2), source.Segment(off+n/2, n-n/2)}}))
		r.equal("length", r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess).Length, n)
		r.a.done(m.active, verbs.StreamRequest, 2, verbs.StatusSuccess)
		r.that(bytes.Equal(sink.Bytes()[off:off+n], want), "some of the %d bytes sent differ", n)
		clear(sink.Bytes())
		back := source.Segment(most+off, n)
		clear(back.Data)
		// The peer answers the Read after it has placed the bytes of the Write.
		_, err := m.active.PostList([]verbs.WorkRequest{
			{ID: 3, Op: verbs.OpWrite, Segments: []verbs.Segment{source.Segment(off, n)}, RemoteAddress: remote.Address, RKey: remote.RKey},
			{ID: 4, Op: verbs.OpRead, Segments: []verbs.Segment{back}, RemoteAddress: remote.Address, RKey: remote.RKey},
		})
		r.ok("write and read", err)
		r.a.done(m.active, verbs.StreamRequest, 3, verbs.StatusSuccess)
		r.a.done(m.active, verbs.StreamRequest, 4, verbs.StatusSuccess)
		r.that(bytes.Equal(back.Data, want), "some of the %d bytes read differ", n)
		r.that(sink.Bytes()[off-1] == 0 && sink.Bytes()[off+n] == 0, "a Write of %d bytes changed a byte beside its place", n)
	}
}

func testEmptyOperations(r *rig) {
	m := r.connected()
	r.ok("receive", m.passive.PostReceive(&verbs.ReceiveRequest{ID: 1}))
	for id, op := range []verbs.Opcode{verbs.OpSend, verbs.OpWrite, verbs.OpRead} {
		// Key and address must be ignored if the length is 0.
		r.ok("post", m.active.Post(&verbs.WorkRequest{ID: uint64(id), Op: op, RemoteAddress: 0xDEAD, RKey: 0xBEEF}))
		r.equal("length", r.a.done(m.active, verbs.StreamRequest, uint64(id), verbs.StatusSuccess).Length, 0)
	}
	r.equal("length", r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess).Length, 0)
	r.talk(m)
}

func testKindsOfSend(r *rig) {
	m := r.connected()
	window := must[*verbs.MemoryRegion](r, "register")(r.p.domain.Register(make([]byte, 64), verbs.AccessLocalWrite|verbs.AccessRemoteWrite))
	remote, hides := window.Remote(0, 8), r.a.limits.HidesFlags
	for i, flags := range []verbs.RequestFlags{0, verbs.FlagSolicited, verbs.FlagInvalidate, verbs.FlagSolicited | verbs.FlagInvalidate} {
		if i == 3 { // the previous Send has invalidated the first key, unless hides is true
			window = must[*verbs.MemoryRegion](r, "register")(r.p.domain.Register(make([]byte, 64), verbs.AccessLocalWrite|verbs.AccessRemoteWrite))
			remote = window.Remote(0, 8)
		}
		if hides && flags&verbs.FlagInvalidate != 0 {
			r.is("send", m.active.Post(&verbs.WorkRequest{Op: verbs.OpSend, Flags: flags, Invalidate: remote.RKey}), verbs.ErrModelNotSupported)
			continue
		}
		r.p.receive(m.passive, 1, 0, 8)
		r.ok("send", m.active.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend, Flags: flags, Invalidate: remote.RKey}))
		c := r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess)
		if !hides {
			r.equal("flags", c.Flags, flags)
		}
		if flags&verbs.FlagInvalidate != 0 {
			r.equal("key", c.Invalidated, remote.RKey)
		}
	}
	if hides {
		r.ok("close", window.Close())
		return
	}
	r.ok("write to a revoked key", m.active.Post(&verbs.WorkRequest{
		Op: verbs.OpWrite, Segments: []verbs.Segment{r.a.region.Segment(0, 8)}, RemoteAddress: remote.Address, RKey: remote.RKey,
	}))
	r.p.expect(m.passive, verbs.EventBroken, verbs.StateDisconnected)
	r.ok("close", window.Close())
}

// testOrder posts more Reads than may be in flight at once, and fenced Sends between these Reads.
// It checks that all requests complete in order.
func testOrder(r *rig) {
	const rounds, n = 5, 16
	m := r.meet(r.a.endpoint(), r.p.endpoint(), param(0, 2), nil)
	remote := r.p.region.Remote(0, n)
	copy(r.p.memory, pattern(6, n))
	segment := func(i int) []verbs.Segment { return []verbs.Segment{r.a.region.Segment(i*n, n)} }
	var id uint64
	for range rounds {
		r.p.receive(m.passive, id, 4096, n)
		for i := range 3 {
			r.ok("read", m.active.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpRead, Segments: segment(i), RemoteAddress: remote.Address, RKey: remote.RKey}))
			id++
		}
		// Because of the fence, the Send must contain the bytes that the Reads have fetched.
		r.ok("send", m.active.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpSend, Flags: verbs.FlagFence, Segments: segment(2)}))
		id++
		for want := id - 4; want < id; want++ {
			r.a.done(m.active, verbs.StreamRequest, want, verbs.StatusSuccess)
		}
		r.p.done(m.passive, verbs.StreamReceive, id-4, verbs.StatusSuccess)
		r.equal("fenced bytes", string(r.p.memory[4096:4096+n]), string(pattern(6, n)))
		clear(r.a.memory[:3*n])
	}
}

func testPostErrors(r *rig) {
	m := r.connected()
	a := r.a.attributes()
	weak := must[*verbs.MemoryRegion](r, "register")(r.a.domain.Register(make([]byte, 64), 0))
	gone := must[*verbs.MemoryRegion](r, "register")(r.a.domain.Register(make([]byte, 64), 0))
	r.ok("close", gone.Close())
	one := []verbs.Segment{r.a.region.Segment(0, 8)}
	many := make([]verbs.Segment, a.MaxRequestSegments+1)
	cut := verbs.Segment{Data: make([]byte, 8), LKey: r.a.region.LKey()}
	for what, c := range map[string]struct {
		w    verbs.WorkRequest
		want error
	}{
		"no opcode":       {verbs.WorkRequest{}, verbs.ErrInvalidParameter},
		"receive":         {verbs.WorkRequest{Op: verbs.OpReceive}, verbs.ErrInvalidParameter},
		"unknown flag":    {verbs.WorkRequest{Op: verbs.OpSend, Flags: 1 << 7}, verbs.ErrInvalidParameter},
		"solicited write": {verbs.WorkRequest{Op: verbs.OpWrite, Flags: verbs.FlagSolicited}, verbs.ErrInvalidParameter},
		"quiet":           {verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagQuiet}, verbs.ErrInvalidParameter},
		"segments":        {verbs.WorkRequest{Op: verbs.OpSend, Segments: many}, verbs.ErrInvalidParameter},
		"outside":         {verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{cut}}, verbs.ErrProtectionViolation},
		"deregistered":    {verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{gone.Segment(0, 1)}}, verbs.ErrPrivilegesViolation},
		"read only":       {verbs.WorkRequest{Op: verbs.OpRead, Segments: []verbs.Segment{weak.Segment(0, 1)}}, verbs.ErrPrivilegesViolation},
		"message": {verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{
			r.a.region.Segment(0, memoryBytes), r.a.region.Segment(0, 1),
		}}, verbs.ErrInvalidParameter},
	} {
		r.is(what, m.active.Post(&c.w), c.want)
	}
	r.ok("read only is enough to send", func() error {
		r.p.receive(m.passive, 1, 0, 8)
		return m.active.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend, Segments: []verbs.Segment{weak.Segment(0, 1)}})
	}())
	r.a.done(m.active, verbs.StreamRequest, 1, verbs.StatusSuccess)
	r.p.done(m.passive, verbs.StreamReceive, 1, verbs.StatusSuccess)
	r.is("not enough to receive", m.active.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{weak.Segment(0, 1)}}), verbs.ErrPrivilegesViolation)
	idle := r.a.endpoint()
	r.is("not connected", idle.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: one}), verbs.ErrInvalidState)
	for id := range uint64(a.MaxReceives) {
		r.a.receive(idle, id, 0, 8)
	}
	r.is("one receive more", idle.PostReceive(&verbs.ReceiveRequest{}), verbs.ErrInsufficientResources)
	r.talk(m)
}
