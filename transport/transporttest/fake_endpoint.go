package transporttest

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// fakeEndpoint is the access of one rank (the field from) to another rank (the field peer).
type fakeEndpoint struct {
	from *fakeTransport
	peer int
	// asked is true once an operation has requested the connection. The connection is
	// established when from.polls reaches standing.
	asked    bool
	standing uint64
}

var _ transport.Endpoint = (*fakeEndpoint)(nil)

// Caps implements transport.Endpoint.
func (e *fakeEndpoint) Caps() transport.Caps {
	t := e.from
	defer t.guard.leave(t.guard.enter("Caps"))
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	o := &t.fabric.options
	caps := transport.Caps{MaxEager: o.MaxEager, EagerBest: o.EagerBest, CostlySend: o.CostlySend}
	if !e.stands() {
		return caps
	}
	caps.Get = !o.NoGet
	caps.Put = !o.NoPut
	caps.FetchAdd = !o.NoFetchAdd
	caps.Handover = !o.NoHandover
	if caps.Get {
		caps.MaxReads = o.MaxReads
	}
	return caps
}

// stands reports whether the connection is established.
func (e *fakeEndpoint) stands() bool {
	return e.from.fabric.options.ConnectPolls == 0 || e.asked && e.from.polls >= e.standing
}

// connecting reports whether the connection needs Polls to be established.
func (e *fakeEndpoint) connecting() bool { return e.asked && !e.stands() }

// admit returns nil if an operation may begin. Otherwise it returns the error of the operation, because one of the
// two ranks is closed, the loss of the peer was reported, the connection is not established, or there is a storm.
// The first call for living ranks requests the connection. The caller holds the fabric's lock.
func (e *fakeEndpoint) admit(op string) error {
	t, o := e.from, &e.from.fabric.options
	state := t.peers[e.peer]
	switch {
	case t.closed:
		return t.fail(op, e.peer, transport.ErrClosed)
	case state.reported:
		return t.fail(op, e.peer, &transport.PeerDown{Peer: e.peer, Cause: state.cause})
	case t.fabric.ranks[e.peer].closed && state.alive():
		return t.fail(op, e.peer, transport.ErrClosed)
	}
	if !e.asked {
		e.asked = true
		e.standing = t.polls + uint64(t.upTo(o.ConnectPolls))
	}
	if !e.stands() || t.polls < t.storm {
		return transport.ErrAgain
	}
	if o.AgainRate > 0 && t.random.Float64() < o.AgainRate {
		t.storm = t.polls + 1 + uint64(t.random.IntN(stormPolls))
		return transport.ErrAgain
	}
	return nil
}

// Send implements transport.Endpoint.
func (e *fakeEndpoint) Send(h transport.Header, payload []byte) error {
	t, f := e.from, e.from.fabric
	state := t.guard.enter("Send")
	f.mu.Lock()
	err := e.send(h, payload)
	f.mu.Unlock()
	t.guard.leave(state)
	return err
}

// send is Send without its locking. The caller holds the fabric's lock.
func (e *fakeEndpoint) send(h transport.Header, payload []byte) error {
	t, f := e.from, e.from.fabric
	if len(payload) > f.options.MaxEager {
		return t.fail("send", e.peer, transport.ErrTooLong)
	}
	if err := e.admit("send"); err != nil {
		return err
	}
	lane, peer := f.lane(t.rank, e.peer), f.ranks[e.peer]
	if !lane.fits(len(payload), &f.options) {
		return transport.ErrAgain
	}
	if peer.peers[t.rank].reported {
		return nil // the peer counts this rank as lost and ignores its messages
	}
	lane.push(h, payload, peer.polls+uint64(t.upTo(f.options.DelayPolls)))
	peer.waiting++
	peer.wake()
	return nil
}

// Get implements transport.Endpoint.
func (e *fakeEndpoint) Get(dst []byte, src transport.Key, token uint64) error {
	return e.start(operation{name: "get", buffer: dst, key: src, token: token, access: transport.AccessRead})
}

// Put implements transport.Endpoint.
func (e *fakeEndpoint) Put(src []byte, dst transport.Key, token uint64) error {
	return e.start(operation{name: "put", buffer: src, key: dst, token: token, access: transport.AccessWrite})
}

// FetchAdd implements transport.Endpoint.
func (e *fakeEndpoint) FetchAdd(dst transport.Key, delta, token uint64) error {
	return e.start(operation{name: "fetch-add", key: dst, delta: delta, token: token, access: transport.AccessAtomic})
}

// Map implements transport.Endpoint.
func (e *fakeEndpoint) Map(k transport.Key, n int) ([]byte, error) {
	t, f := e.from, e.from.fabric
	defer t.guard.leave(t.guard.enter("Map"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.options.NoHandover || k.Token != arenaToken {
		return nil, t.fail("map", e.peer, transport.ErrNotSupported)
	}
	b, err := f.ranks[e.peer].arena.slice(k.Addr, n)
	if err != nil {
		return nil, t.fail("map", e.peer, err)
	}
	return b, nil
}

// start begins a one-sided operation.
func (e *fakeEndpoint) start(op operation) error {
	t, f := e.from, e.from.fabric
	defer t.guard.leave(t.guard.enter(op.name))
	f.mu.Lock()
	defer f.mu.Unlock()
	op.issuer, op.peer = t, e.peer
	if !e.supports(op.access) {
		return t.fail(op.name, e.peer, transport.ErrNotSupported)
	}
	if err := e.admit(op.name); err != nil {
		return err
	}
	if op.access == transport.AccessRead && e.reads() >= f.options.MaxReads {
		return transport.ErrAgain
	}
	e.checkStale(&op)
	op.alone = !f.options.TargetPolls
	op.due = t.polls + uint64(t.upTo(f.options.DelayPolls))
	op.fails = f.options.FailRate > 0 && t.random.Float64() < f.options.FailRate
	op.begin()
	t.operations = append(t.operations, &op)
	if peer := f.ranks[e.peer]; !op.alone {
		peer.requests = append(peer.requests, &op)
		peer.wake()
	}
	return nil
}

// supports reports whether the fabric supports the operation that needs this access.
func (e *fakeEndpoint) supports(access transport.Access) bool {
	o := &e.from.fabric.options
	switch access {
	case transport.AccessRead:
		return !o.NoGet
	case transport.AccessWrite:
		return !o.NoPut
	default:
		return !o.NoFetchAdd
	}
}

// reads returns the number of Gets in flight to the peer.
func (e *fakeEndpoint) reads() int {
	n := 0
	for _, op := range e.from.operations {
		if op.peer == e.peer && op.access == transport.AccessRead {
			n++
		}
	}
	return n
}

// checkStale panics if an operation names memory that is concealed now. It does not panic if one of the two
// ranks counts the other as lost, or if FakeOptions.AllowStale is true.
func (e *fakeEndpoint) checkStale(op *operation) {
	t, owner := e.from, e.from.fabric.ranks[e.peer]
	ended := op.key.Token > arenaToken && op.key.Token <= arenaToken+owner.exposures && owner.exposed[op.key.Token] == nil
	if ended && t.peers[e.peer].alive() && owner.peers[t.rank].alive() && !t.fabric.options.AllowStale {
		panic(fmt.Sprintf("transporttest: rank %d: %s of memory that rank %d has concealed", t.rank, op.name, e.peer))
	}
}

// upTo returns a random number of polls between 0 and most.
func (t *fakeTransport) upTo(most int) int {
	if most == 0 {
		return 0
	}
	return t.random.IntN(most + 1)
}
