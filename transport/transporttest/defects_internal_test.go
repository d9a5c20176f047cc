package transporttest

import (
	"errors"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// defective is a transport with a defect. The embedded Transport is correct. Each function field
// that is set replaces one of its methods.
type defective struct {
	transport.Transport
	arm     func() bool
	poll    func(h transport.Handler, budget int) (int, error)
	expose  func(b []byte, access transport.Access) (transport.Key, error)
	conceal func(k transport.Key) error
	close   func() error
	wrap    func(e transport.Endpoint) transport.Endpoint
}

func (d *defective) Arm() bool {
	if d.arm == nil {
		return d.Transport.Arm()
	}
	return d.arm()
}

func (d *defective) Poll(h transport.Handler, budget int) (int, error) {
	if d.poll == nil {
		return d.Transport.Poll(h, budget)
	}
	return d.poll(h, budget)
}

func (d *defective) Expose(b []byte, access transport.Access) (transport.Key, error) {
	if d.expose == nil {
		return d.Transport.Expose(b, access)
	}
	return d.expose(b, access)
}

func (d *defective) Conceal(k transport.Key) error {
	if d.conceal == nil {
		return d.Transport.Conceal(k)
	}
	return d.conceal(k)
}

func (d *defective) Close() error {
	if d.close == nil {
		return d.Transport.Close()
	}
	return d.close()
}

func (d *defective) Endpoint(peer int) (transport.Endpoint, error) {
	e, err := d.Transport.Endpoint(peer)
	if d.wrap == nil || err != nil {
		return e, err
	}
	return d.wrap(e), nil
}

// altered is an endpoint whose Send or Get is replaced.
type altered struct {
	transport.Endpoint
	send func(h transport.Header, payload []byte) error
	get  func(dst []byte, src transport.Key, token uint64) error
}

func (a *altered) Send(h transport.Header, payload []byte) error {
	if a.send == nil {
		return a.Endpoint.Send(h, payload)
	}
	return a.send(h, payload)
}

func (a *altered) Get(dst []byte, src transport.Key, token uint64) error {
	if a.get == nil {
		return a.Endpoint.Get(dst, src, token)
	}
	return a.get(dst, src, token)
}

// relay is a handler that calls the embedded Handler. Each function field that is set replaces one
// of its methods.
type relay struct {
	transport.Handler
	arrive    func(peer int, h transport.Header, payload []byte)
	completed func(peer int, token, value uint64, err error)
	down      func(d *transport.PeerDown)
}

func (r *relay) Arrive(peer int, h transport.Header, payload []byte) {
	if r.arrive == nil {
		r.Handler.Arrive(peer, h, payload)
		return
	}
	r.arrive(peer, h, payload)
}

func (r *relay) Completed(peer int, token, value uint64, err error) {
	if r.completed == nil {
		r.Handler.Completed(peer, token, value, err)
		return
	}
	r.completed(peer, token, value, err)
}

func (r *relay) Down(d *transport.PeerDown) {
	if r.down == nil {
		r.Handler.Down(d)
		return
	}
	r.down(d)
}

// polling returns a Poll with a defect: it passes events to the handler through a relay that change alters.
func polling(d *defective, change func(r *relay, h transport.Handler)) func(transport.Handler, int) (int, error) {
	return func(h transport.Handler, budget int) (int, error) {
		r := &relay{Handler: h}
		change(r, h)
		return d.Transport.Poll(r, budget)
	}
}

// sending gives endpoints of d a defective Send.
func sending(d *defective, send func(e transport.Endpoint, h transport.Header, payload []byte) error) {
	d.wrap = func(e transport.Endpoint) transport.Endpoint {
		return &altered{Endpoint: e, send: func(h transport.Header, p []byte) error { return send(e, h, p) }}
	}
}

// everyRight is the set of all rights that Expose can grant.
const everyRight = transport.AccessRead | transport.AccessWrite | transport.AccessAtomic

// granting makes a defective Expose, which grants other rights than the caller asked for.
func granting(granted func(asked transport.Access) transport.Access) func(d *defective, _ *Fake, _ int) {
	return func(d *defective, _ *Fake, _ int) {
		d.expose = func(b []byte, access transport.Access) (transport.Key, error) {
			return d.Transport.Expose(b, granted(access))
		}
	}
}

// defects are mistakes of transports, each with the rule whose test has to find it.
var defects = []struct {
	name, rule string
	make       func(d *defective, f *Fake, rank int)
}{
	{"a message overtakes", "MessagesOfOnePairArriveInOrder", func(d *defective, _ *Fake, _ int) {
		var held []func()
		d.poll = polling(d, func(r *relay, h transport.Handler) {
			r.arrive = func(peer int, hd transport.Header, payload []byte) {
				payload = slices.Clone(payload)
				held = append(held, func() { h.Arrive(peer, hd, payload) })
				if hd.A%5 == 4 || hd == (transport.Header{}) {
					slices.Reverse(held)
				} else if hd.A%5 == 3 {
					return
				}
				for _, arrive := range held {
					arrive()
				}
				held = nil
			}
		})
	}},
	{"the last byte is lost", "MessagesOfOnePairArriveInOrder", func(d *defective, _ *Fake, _ int) {
		sending(d, func(e transport.Endpoint, h transport.Header, payload []byte) error {
			return e.Send(h, payload[:max(0, len(payload)-1)])
		})
	}},
	{"a refused message was sent", "RefusedSendHasNoEffect", func(d *defective, _ *Fake, _ int) {
		sending(d, func(e transport.Endpoint, h transport.Header, payload []byte) error {
			if err := e.Send(h, payload); err != nil || h.A%7 != 6 {
				return err
			}
			return transport.ErrAgain
		})
	}},
	{"too long a message is cut", "SendAboveMaxEagerIsTooLong", func(d *defective, _ *Fake, _ int) {
		sending(d, func(e transport.Endpoint, h transport.Header, payload []byte) error {
			return e.Send(h, payload[:min(len(payload), e.Caps().MaxEager)])
		})
	}},
	{"the budget is passed", "PollKeepsToItsBudget", func(d *defective, _ *Fake, _ int) {
		d.poll = func(h transport.Handler, budget int) (int, error) { return d.Transport.Poll(h, 2*budget) }
	}},
	{"a get writes a byte too many", "GetReadsExactlyWhatWasAsked", func(d *defective, _ *Fake, _ int) {
		d.wrap = func(e transport.Endpoint) transport.Endpoint {
			return &altered{Endpoint: e, get: func(dst []byte, src transport.Key, token uint64) error {
				dst[:len(dst)+1][len(dst)] = 0
				return e.Get(dst, src, token)
			}}
		}
	}},
	{"an atomic returns the new word", "FetchAddReturnsTheOldWord", func(d *defective, _ *Fake, _ int) {
		d.poll = polling(d, func(r *relay, h transport.Handler) {
			r.completed = func(peer int, token, value uint64, err error) { h.Completed(peer, token, value+1, err) }
		})
	}},
	{"conceal does nothing", "ConcealEndsAccess", func(d *defective, _ *Fake, _ int) {
		d.conceal = func(transport.Key) error { return nil }
	}},
	{"a key is good again with the next exposure", "ConcealEndsAccess", func(d *defective, f *Fake, rank int) {
		var last transport.Key
		exposed := f.ranks[rank].exposed
		d.expose = func(b []byte, access transport.Access) (transport.Key, error) {
			k, err := d.Transport.Expose(b, access)
			if last != (transport.Key{}) {
				exposed[last.Token] = &region{bytes: b, base: last.Addr, access: access}
			}
			return k, err
		}
		d.conceal = func(k transport.Key) error {
			last = k
			return d.Transport.Conceal(k)
		}
	}},
	{"rights are not looked at", "AccessIsWhatWasGranted", granting(func(transport.Access) transport.Access { return everyRight })},
	{"the right to read is one to write", "AccessIsWhatWasGranted", granting(func(a transport.Access) transport.Access {
		if a&transport.AccessRead != 0 {
			a |= transport.AccessWrite
		}
		return a
	})},
	{"the right to write is one to add", "AccessIsWhatWasGranted", granting(func(a transport.Access) transport.Access {
		if a&transport.AccessWrite != 0 {
			a |= transport.AccessAtomic
		}
		return a
	})},
	{"atomics need the right to read", "AccessIsWhatWasGranted", granting(func(a transport.Access) transport.Access {
		if a&transport.AccessRead == 0 {
			a &^= transport.AccessAtomic
		}
		return a
	})},
	{"arm does not look", "ArmIsRefusedWhileSomethingIsThere", func(d *defective, _ *Fake, _ int) {
		d.arm = func() bool { d.Transport.Arm(); return true }
	}},
	{"arm looks and does not arm", "NoWakeUpIsLost", func(d *defective, _ *Fake, _ int) {
		d.arm = func() bool { armed := d.Transport.Arm(); d.Disarm(); return armed }
	}},
	{"a loss is reported twice", "LossIsReportedOnce", func(d *defective, _ *Fake, _ int) {
		d.poll = polling(d, func(r *relay, h transport.Handler) {
			r.down = func(down *transport.PeerDown) { h.Down(down); h.Down(down) }
		})
	}},
	{"a loss comes before the bulk", "PendingBulkEndsBeforeTheLoss", func(d *defective, _ *Fake, _ int) {
		lost := errors.New("lost")
		d.poll = polling(d, func(r *relay, h transport.Handler) {
			r.completed = func(peer int, token, value uint64, _ error) { h.Completed(peer, token, value, lost) }
		})
	}},
	{"a close looks like a loss", "CloseIsAnOrderlyEnd", func(d *defective, f *Fake, rank int) {
		d.close = func() error { f.Kill(rank, errors.New("closed")); return nil }
	}},
	{"a second close succeeds", "ClosedTransportSaysSo", func(d *defective, _ *Fake, _ int) {
		d.close = func() error { _ = d.Transport.Close(); return nil }
	}},
	{"a send to a closed peer reports a loss", "SendToAClosedPeerSaysSo", func(d *defective, _ *Fake, _ int) {
		sending(d, func(e transport.Endpoint, h transport.Header, payload []byte) error {
			err := e.Send(h, payload)
			if errors.Is(err, transport.ErrClosed) {
				return &transport.PeerDown{Peer: 1, Cause: err}
			}
			return err
		})
	}},
	{"a poll lets no callback call back", "EveryCallbackMayCallBack", func(d *defective, _ *Fake, _ int) {
		polls := false
		d.poll = func(h transport.Handler, budget int) (int, error) {
			polls = true
			defer func() { polls = false }()
			return d.Transport.Poll(h, budget)
		}
		d.wrap = func(e transport.Endpoint) transport.Endpoint {
			return &altered{Endpoint: e, get: func(dst []byte, src transport.Key, token uint64) error {
				if polls {
					return transport.ErrClosed
				}
				return e.Get(dst, src, token)
			}}
		}
	}},
}

// witness is a testing.TB that records a failure and does not report it to the real test.
type witness struct {
	testing.TB
	failed   atomic.Bool
	cleanups []func()
}

func (w *witness) Errorf(string, ...any) { w.failed.Store(true) }
func (w *witness) FailNow()              { w.failed.Store(true); goruntime.Goexit() }
func (w *witness) Failed() bool          { return w.failed.Load() }
func (w *witness) Logf(string, ...any)   {}
func (w *witness) Cleanup(f func())      { w.cleanups = append(w.cleanups, f) }

// judge runs one rule and reports whether the transport keeps it.
func judge(t *testing.T, name string, patience time.Duration, newFabric Make) bool {
	t.Helper()
	all := slices.Concat(messageRules, bulkRules, memoryRules, sleepRules, lossRules, trafficRules)
	i := slices.IndexFunc(all, func(r rule) bool { return r.name == name })
	require.GreaterOrEqual(t, i, 0, "no rule %s", name)
	w, done := &witness{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		r := newRig(w, newFabric, all[i].ranks)
		r.patience = patience
		all[i].test(r)
	}()
	<-done
	for _, cleanup := range slices.Backward(w.cleanups) {
		cleanup()
	}
	return !w.Failed()
}

// TestSuiteFindsDefects runs each defect against the rule that has to find it, and checks that the rule fails. A
// transport without the defect must keep the rule. With the defect, the timeout is short, because some rules fail
// by their timeout.
func TestSuiteFindsDefects(t *testing.T) {
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			newFabric := func(broken bool) Make {
				return func(_ testing.TB, ranks int) *Fabric {
					f, fabric := NewFake(ranks, FakeOptions{AllowStale: true}), &Fabric{}
					for rank := range ranks {
						bad := &defective{Transport: f.Transport(rank)}
						if broken {
							d.make(bad, f, rank)
						}
						fabric.Transports = append(fabric.Transports, bad)
						fabric.Sleepers = append(fabric.Sleepers, f.Sleeper(rank))
						fabric.Arenas = append(fabric.Arenas, f.Arena(rank))
					}
					return fabric
				}
			}
			require.True(t, judge(t, d.rule, defaultPatience, newFabric(false)), "a good transport fails %s", d.rule)
			require.False(t, judge(t, d.rule, 200*time.Millisecond, newFabric(true)), "%s was not found", d.name)
		})
	}
}
