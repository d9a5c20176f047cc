package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

const (
	// defaultPatience is long enough for a crowded machine.
	defaultPatience = 60 * time.Second
	// pollBudget is the budget of every Poll that does not test the budget.
	pollBudget = 16
	// quietPolls is how often a rank is polled to see that nothing more comes.
	quietPolls = 64
	// shortMessage is a payload in bytes that every transport sends eagerly.
	shortMessage = 40
)

// rig drives the ranks of a fabric. Unless parallel is used, all of them are
// driven by the test's goroutine.
type rig struct {
	testing.TB
	fabric *Fabric
	ranks  []*member
	closed bool
	// patience ends a test that would hang. No rule depends on it.
	patience time.Duration
	// failed stops the other goroutines of a parallel test.
	failed atomic.Bool
}

// newRig makes a fabric and the members that drive it.
func newRig(tb testing.TB, newFabric Make, ranks int) *rig {
	tb.Helper()
	r := &rig{TB: tb, fabric: newFabric(tb, ranks), patience: defaultPatience}
	require.Len(tb, r.fabric.Transports, ranks)
	require.Len(tb, r.fabric.Sleepers, ranks)
	for i, tr := range r.fabric.Transports {
		r.ranks = append(r.ranks, newMember(r, i, tr, r.fabric.Sleepers[i]))
	}
	tb.Cleanup(r.close)
	return r
}

// close closes what is still open.
func (r *rig) close() {
	if r.closed {
		return
	}
	r.closed = true
	for _, m := range r.ranks {
		if m.closed {
			continue
		}
		if err := m.transport.Close(); err != nil {
			r.Errorf("rank %d: close: %v", m.rank, err)
		}
	}
	if r.fabric.Close != nil {
		r.fabric.Close()
	}
}

// pump polls the ranks in turn until done returns true.
func (r *rig) pump(what string, done func() bool) {
	r.Helper()
	deadline := time.Now().Add(r.patience)
	for !done() {
		events := 0
		for _, m := range r.ranks {
			events += m.poll()
		}
		if r.Failed() {
			r.FailNow()
		}
		if events > 0 {
			continue
		}
		require.False(r, time.Now().After(deadline), "still waiting: %s", what)
		r.ranks[0].sleeper.Yield()
	}
}

// quiet polls every rank for a while, in which unwanted events would show.
func (r *rig) quiet() {
	r.Helper()
	for n := 0; n < quietPolls; {
		events := 0
		for _, m := range r.ranks {
			events += m.poll()
		}
		if events == 0 {
			n++
		}
	}
}

// send sends one message, polling all ranks while it is refused.
func (r *rig) send(from, to int, h transport.Header, payload []byte) {
	r.Helper()
	r.drive(fmt.Sprintf("send of %d bytes from %d to %d", len(payload), from, to), func() error {
		return r.endpoint(from, to).Send(h, payload)
	})
}

// drive repeats an operation that was refused, polling in between.
func (r *rig) drive(what string, operation func() error) {
	r.Helper()
	require.NoError(r, r.attempt(what, operation), what)
}

// attempt repeats an operation until it is not refused and returns its error.
func (r *rig) attempt(what string, operation func() error) error {
	r.Helper()
	var err error
	r.pump(what, func() bool {
		err = operation()
		return !errors.Is(err, transport.ErrAgain)
	})
	return err
}

// endpoint returns the endpoint between two ranks.
func (r *rig) endpoint(from, to int) transport.Endpoint {
	r.Helper()
	e, err := r.ranks[from].transport.Endpoint(to)
	require.NoError(r, err)
	return e
}

// connected returns an endpoint whose connection stands, and its capabilities.
func (r *rig) connected(from, to int) (transport.Endpoint, transport.Caps) {
	r.Helper()
	m := r.ranks[to]
	before := len(m.arrivals)
	r.send(from, to, transport.Header{}, nil)
	r.pump("first message", func() bool { return len(m.arrivals) > before })
	m.arrivals = m.arrivals[:before]
	e := r.endpoint(from, to)
	return e, e.Caps()
}

// complete begins an operation of a rank, waits for its end and returns it. An
// error of the call itself counts as the end.
func (r *rig) complete(rank int, what string, operation func(token uint64) error) completion {
	r.Helper()
	m := r.ranks[rank]
	token := m.nextToken()
	if err := r.attempt(what, func() error { return operation(token) }); err != nil {
		return completion{err: err}
	}
	r.pump(what, func() bool { _, ok := m.completions[token]; return ok })
	return m.completions[token]
}

// parallel runs one goroutine per rank and fails with the errors they return.
func (r *rig) parallel(run func(m *member) error) {
	r.Helper()
	errs := make([]error, len(r.ranks))
	var all sync.WaitGroup
	for i, m := range r.ranks {
		all.Go(func() {
			if errs[i] = run(m); errs[i] != nil {
				r.failed.Store(true)
			}
		})
	}
	all.Wait()
	require.NoError(r, errors.Join(errs...))
}

// rounds returns how often a rule repeats what it does: n times with GORUN_SOAK=1,
// a third of it without, as the race detector sees every repetition, and a tenth
// with -short.
func (r *rig) rounds(n int) int {
	switch {
	case testing.Short():
		return (n + 9) / 10
	case os.Getenv("GORUN_SOAK") == "1":
		return n
	}
	return (n + 2) / 3
}

// random returns a source of chance whose seed is printed if the test fails, and
// can be given again as GORUN_SEED.
func (r *rig) random() *rand.Rand {
	r.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("GORUN_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 0, 64)
		require.NoError(r, err, "GORUN_SEED")
	}
	r.Cleanup(func() {
		if r.Failed() {
			r.Logf("to repeat: GORUN_SEED=%#x", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// pattern returns n bytes that differ from place to place and from key to key.
func pattern(key uint64, n int) []byte {
	b := make([]byte, n)
	writePattern(b, key)
	return b
}

// noise is what patterns are cut from, so that the race detector sees a copy and
// not every byte. Its length is prime: bytes that are a power of two away from
// their place are others.
var noise = func() []byte {
	b := make([]byte, 1<<16+1)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // it has no errors
	return b
}()

// writePattern fills b with the pattern of a key.
func writePattern(b []byte, key uint64) {
	for from := int(key * 0x9e3779b97f4a7c15 >> 48); len(b) > 0; from = 0 {
		b = b[copy(b, noise[from:]):]
	}
}

// requireInOrder checks that the arrivals have the numbers 0, 1, ... and their patterns.
func (r *rig) requireInOrder(arrivals []arrival) {
	r.Helper()
	for i, a := range arrivals {
		require.Equal(r, uint64(i), a.header.A)
		r.requirePattern(a.payload, uint64(i))
	}
}

// requirePattern fails unless b is the pattern of a key.
func (r *rig) requirePattern(b []byte, key uint64) {
	r.Helper()
	require.True(r, bytes.Equal(b, pattern(key, len(b))), "%d bytes are not those of pattern %d", len(b), key)
}
