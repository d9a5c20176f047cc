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
	// defaultPatience is the timeout of waits. It is long enough for a machine with more ranks
	// than processors.
	defaultPatience = 60 * time.Second
	// pollBudget is the budget of every Poll, except in the test of the budget.
	pollBudget = 16
	// quietPolls is the number of Polls of each rank without an event after which quiet returns.
	quietPolls = 64
	// shortMessage is the length in bytes of a payload that every transport sends eagerly.
	shortMessage = 40
)

// rig drives the ranks of a fabric. The test's goroutine drives all ranks, except in the method
// parallel.
type rig struct {
	testing.TB
	fabric *Fabric
	ranks  []*member
	closed bool
	// patience is the timeout after which a wait fails, so that a test does not hang. No rule
	// depends on its value.
	patience time.Duration
	// failed is set when a function that the method parallel runs has failed, or when a handler has
	// received a wrong message. The functions of the other ranks then give up.
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

// close closes the transports that are still open, and then the fabric. Later calls do nothing.
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

// quiet polls all ranks in rounds. It returns when quietPolls rounds, not necessarily consecutive
// ones, have found no event. A caller checks afterwards that no unwanted event has arrived.
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

// send sends one message, and polls all ranks while Send returns ErrAgain.
func (r *rig) send(from, to int, h transport.Header, payload []byte) {
	r.Helper()
	r.drive(fmt.Sprintf("send of %d bytes from %d to %d", len(payload), from, to), func() error {
		return r.endpoint(from, to).Send(h, payload)
	})
}

// drive repeats an operation while it returns ErrAgain, and polls all ranks in between. It fails
// the test if the operation returns another error.
func (r *rig) drive(what string, operation func() error) {
	r.Helper()
	require.NoError(r, r.attempt(what, operation), what)
}

// attempt repeats an operation while it returns ErrAgain, and returns its last error.
func (r *rig) attempt(what string, operation func() error) error {
	r.Helper()
	var err error
	r.pump(what, func() bool {
		err = operation()
		return !errors.Is(err, transport.ErrAgain)
	})
	return err
}

// endpoint returns the endpoint through which one rank (the argument from) sends to another (the
// argument to).
func (r *rig) endpoint(from, to int) transport.Endpoint {
	r.Helper()
	e, err := r.ranks[from].transport.Endpoint(to)
	require.NoError(r, err)
	return e
}

// connected returns an endpoint whose connection is established, and its capabilities. To establish
// the connection it sends a message, which it removes from the arrivals.
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

// complete starts an operation of a rank, polls all ranks until the operation completes, and returns its
// completion. If the call that starts the operation returns an error, the completion contains this error.
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

// parallel calls run for each rank on a goroutine of its own, and fails the test with the errors
// that the calls return.
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

// rounds returns how many times a rule repeats its test: a tenth of n with -short, otherwise n with
// GORUN_SOAK=1. By default it returns a third of n, because each repetition is slow under the race detector.
func (r *rig) rounds(n int) int {
	switch {
	case testing.Short():
		return (n + 9) / 10
	case os.Getenv("GORUN_SOAK") == "1":
		return n
	}
	return (n + 2) / 3
}

// random returns a random number generator. Its seed is printed if the test fails; with that seed in
// GORUN_SEED the test uses the same random numbers again.
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

// pattern returns n bytes of the pattern with the number key. The bytes are random bytes of the table noise. The
// key determines where in the table they begin.
func pattern(key uint64, n int) []byte {
	b := make([]byte, n)
	writePattern(b, key)
	return b
}

// noise is a table of random bytes from which patterns are copied. Under the race detector one copy is cheaper
// than a write of each byte. The length of the table is a prime number, so that a pattern differs from the same
// pattern displaced by a power of two.
var noise = func() []byte {
	b := make([]byte, 1<<16+1)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // Read never returns an error
	return b
}()

// writePattern fills b with the pattern with the number key.
func writePattern(b []byte, key uint64) {
	for from := int(key * 0x9e3779b97f4a7c15 >> 48); len(b) > 0; from = 0 {
		b = b[copy(b, noise[from:]):]
	}
}

// requireInOrder checks that the arrivals have the numbers 0, 1, ... in their headers, and the
// patterns with these numbers as payloads.
func (r *rig) requireInOrder(arrivals []arrival) {
	r.Helper()
	for i, a := range arrivals {
		require.Equal(r, uint64(i), a.header.A)
		r.requirePattern(a.payload, uint64(i))
	}
}

// requirePattern fails the test if b is not the pattern with the number key.
func (r *rig) requirePattern(b []byte, key uint64) {
	r.Helper()
	require.True(r, bytes.Equal(b, pattern(key, len(b))), "%d bytes are not those of pattern %d", len(b), key)
}
