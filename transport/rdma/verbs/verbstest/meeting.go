package verbstest

import "github.com/gorun-hpc/gorun/transport/rdma/verbs"

// meeting is an established connection.
type meeting struct {
	active, passive           *verbs.Endpoint
	activeEvent, passiveEvent *verbs.Event
	request                   verbs.RequestInfo
}

// meet connects an unconnected endpoint of side a with an unconnected endpoint of side p. ask holds
// the parameters of Connect, and answer the parameters of Accept.
func (r *rig) meet(active, passive *verbs.Endpoint, ask, answer *verbs.ConnParam) *meeting {
	r.Helper()
	l := r.p.listen()
	r.connect(active, l.Address(), ask)
	request := r.p.request()
	m := &meeting{active: active, passive: passive, request: must[verbs.RequestInfo](r, "query")(request.Query())}
	r.ok("accept", request.Accept(passive, answer))
	m.activeEvent = r.a.expect(active, verbs.EventEstablished, verbs.StateConnected)
	// A provider may notify the passive side of the connection only after the active side has
	// received the answer, so the test waits for the event of the active side first.
	m.passiveEvent = r.p.expect(passive, verbs.EventEstablished, verbs.StateConnected)
	r.ok("close listener", l.Close())
	return m
}

// connected returns a connection of two new endpoints. The functions in changes modify the
// configurations of both endpoints.
func (r *rig) connected(changes ...func(c *verbs.EndpointConfig)) *meeting {
	r.Helper()
	return r.meet(r.a.endpoint(changes...), r.p.endpoint(changes...), nil, nil)
}

// param returns parameters with the given IRD and ORD, and with the maximum retry counts.
func param(in, out int) *verbs.ConnParam {
	return &verbs.ConnParam{ResponderResources: in, InitiatorDepth: out, RetryCount: 7, RNRRetryCount: 7}
}

// data returns parameters with private data and the default depths.
func data(privateData []byte) *verbs.ConnParam {
	p := param(verbs.DepthDefault, verbs.DepthDefault)
	p.PrivateData = privateData
	return p
}

// receive posts a receive of n bytes at offset off of the side's memory.
func (s *side) receive(ep *verbs.Endpoint, id uint64, off, n int) {
	s.rig.Helper()
	s.rig.ok("post receive", ep.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{s.region.Segment(off, n)}}))
}

// send posts a Send of n bytes at offset off of the side's memory.
func (s *side) send(ep *verbs.Endpoint, id uint64, off, n int) {
	s.rig.Helper()
	s.rig.ok("post send", ep.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpSend, Segments: []verbs.Segment{s.region.Segment(off, n)}}))
}

// done waits for the next completion of an endpoint on a stream, and checks its ID and status.
func (s *side) done(ep *verbs.Endpoint, stream verbs.Stream, id uint64, status verbs.Status) verbs.Completion {
	s.rig.Helper()
	c := s.completion(ep, stream)
	if c.ID != id || c.Status != status {
		s.rig.Fatalf("completion %d %v, want %d %v", c.ID, c.Status, id, status)
	}
	return c
}

// speak sends one message from source to sink and checks both completions and the bytes.
func (r *rig) speak(from *side, source *verbs.Endpoint, to *side, sink *verbs.Endpoint, key byte) {
	r.Helper()
	const n, off = 100, 1000
	copy(from.memory[off:], pattern(key, n))
	clear(to.memory[off : off+n])
	to.receive(sink, uint64(key), off, n)
	from.send(source, uint64(key)+1, off, n)
	from.done(source, verbs.StreamRequest, uint64(key)+1, verbs.StatusSuccess)
	c := to.done(sink, verbs.StreamReceive, uint64(key), verbs.StatusSuccess)
	r.equal("length", c.Length, n)
	r.equal("bytes", string(to.memory[off:off+n]), string(pattern(key, n)))
}

// talk sends a message in each direction. The active side sends first.
func (r *rig) talk(m *meeting) {
	r.Helper()
	r.speak(r.a, m.active, r.p, m.passive, 10)
	r.speak(r.p, m.passive, r.a, m.active, 20)
}

// read makes each side post Reads of the other side's memory, first the active side. Each side
// posts up to three times as many Reads as it may have in flight. The other side, the responder, is
// polled only after all Reads have been posted. So the responder finds the maximum number of Reads
// in flight at once. If the requester had one more Read in flight, the connection would end.
func (r *rig) read(m *meeting) {
	r.Helper()
	r.talk(m) // the passive side may have to wait for this first message
	r.reads(r.a, m.active, m.activeEvent.InitiatorDepth, r.p)
	r.reads(r.p, m.passive, m.passiveEvent.InitiatorDepth, r.a)
	r.state(m.active, verbs.StateConnected)
	r.state(m.passive, verbs.StateConnected)
}

func (r *rig) reads(by *side, ep *verbs.Endpoint, depth int, of *side) {
	r.Helper()
	const n, off = 16, 8192
	n3 := min(3*depth, by.attributes().MaxRequests)
	remote := of.region.Remote(off, memoryBytes-off)
	copy(of.memory[off:], pattern(byte(depth), n3*n))
	clear(by.memory[:n3*n])
	read := func(i int) error {
		return ep.Post(&verbs.WorkRequest{
			ID: uint64(i), Op: verbs.OpRead, Segments: []verbs.Segment{by.region.Segment(i*n, n)},
			RemoteAddress: remote.Address + uint64(i*n), RKey: remote.RKey,
		})
	}
	if depth == 0 {
		r.is("read", read(0), verbs.ErrModelNotSupported)
	}
	for i := range n3 {
		r.ok("read", read(i))
	}
	if o, ok := r.harness.(Observer); ok {
		r.equal("reads under way", o.ReadsUnderWay(r, ep), depth)
	}
	for i := range n3 {
		by.done(ep, verbs.StreamRequest, uint64(i), verbs.StatusSuccess)
	}
	r.equal("bytes read", string(by.memory[:n3*n]), string(pattern(byte(depth), n3*n)))
}
