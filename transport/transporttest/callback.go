package transporttest

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// testCallBack checks that a handler can call, within each of its callbacks, the methods of the transport that a
// handler may call.
func testCallBack(r *rig) {
	_, caps := r.connected(0, 1)
	r.connected(0, 2)
	r.needs("get", caps.Get)
	source := alignedBytes(64)
	k := r.expose(1, source, transport.AccessRead|transport.AccessWrite|transport.AccessAtomic)
	m := r.ranks[0]
	c := &caller{member: m, caps: caps, key: k}
	m.after = c.call
	for _, callback := range []string{"Arrive", "Completed", "Down"} {
		c.turn = callback
		switch callback {
		case "Arrive":
			r.send(1, 0, transport.Header{}, nil)
		case "Completed":
			token := m.nextToken()
			r.drive("get", func() error { return r.endpoint(0, 1).Get(make([]byte, 8), k, token) })
			c.begun++
		default:
			m.transport.MarkDown(1, errLost)
		}
		r.pump("the callback "+callback, func() bool { return c.turn == "" && len(m.completions) == c.begun })
	}
	r.pump("messages of the callbacks", func() bool { return len(r.ranks[2].arrivals) == c.sent })
	require.Positive(r, c.sent)
	require.Len(r, m.downs, 1)
}

// caller calls the methods of its transport from within one callback, which turn names.
type caller struct {
	*member
	caps        transport.Caps
	key         transport.Key
	turn        string
	sent, begun int
}

// call makes the calls if its argument is the callback that turn names. Within Down, a Get, Put or FetchAdd
// on the lost peer must fail with ErrPeerDown or ErrAgain.
func (c *caller) call(in string) {
	if c.turn != in {
		return
	}
	c.turn = ""
	lost := in == "Down"
	check := func(call string, err error) bool {
		switch {
		case err == nil && !lost:
			return true
		case errors.Is(err, transport.ErrAgain), lost && errors.Is(err, transport.ErrPeerDown):
		default:
			c.rig.Errorf("%s in %s: %v", call, in, err)
		}
		return false
	}
	t := c.transport
	own, err := t.Expose(make([]byte, 8), transport.AccessRead)
	if err == nil {
		err = t.Conceal(own)
	}
	if err != nil {
		c.rig.Errorf("expose in %s: %v", in, err)
	}
	if lost {
		for _, tell := range tellers {
			tell(t, 1, errLost) // a second call has no effect
		}
	}
	if other := c.rig.endpoint(0, 2); other.Caps().MaxEager > 0 && other.Send(transport.Header{}, nil) == nil {
		c.sent++
	}
	e := c.rig.endpoint(0, 1)
	for name, begin := range map[string]func(token uint64) error{
		"get":       func(token uint64) error { return e.Get(make([]byte, 8), c.key, token) },
		"put":       func(token uint64) error { return e.Put(make([]byte, 8), c.key, token) },
		"fetch-add": func(token uint64) error { return e.FetchAdd(c.key, 1, token) },
	} {
		if !map[string]bool{"get": true, "put": c.caps.Put, "fetch-add": c.caps.FetchAdd}[name] {
			continue
		}
		if check(name, begin(c.nextToken())) {
			c.begun++
		}
	}
}
