package iwarp_test

import (
	"os"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// descriptors returns the number of open descriptors of the process.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// TestNothingIsLeft opens and ends connections in various ways, and checks that no descriptor and no
// goroutine is left.
func TestNothingIsLeft(t *testing.T) {
	fds, goroutines := descriptors(t), goruntime.NumGoroutine()
	for name, end := range map[string]func(a, b *side, x, y *verbs.Endpoint){
		"nothing is ended": func(*side, *side, *verbs.Endpoint, *verbs.Endpoint) {},
		"gracefully": func(a, b *side, x, y *verbs.Endpoint) {
			require.NoError(a.tb, x.Disconnect(verbs.CloseGraceful))
			require.Equal(a.tb, verbs.EventDisconnected, a.event(x, b).Type)
			require.Equal(a.tb, verbs.EventDisconnected, b.event(y, a).Type)
		},
		"abruptly": func(a, b *side, x, y *verbs.Endpoint) {
			require.NoError(a.tb, y.Disconnect(verbs.CloseAbrupt))
			a.event(x, b)
		},
		"by both at once": func(a, b *side, x, y *verbs.Endpoint) {
			require.NoError(a.tb, x.Disconnect(verbs.CloseGraceful))
			require.NoError(a.tb, y.Disconnect(verbs.CloseGraceful))
			require.Equal(a.tb, verbs.EventDisconnected, a.event(x, b).Type)
			require.Equal(a.tb, verbs.EventDisconnected, b.event(y, a).Type)
		},
		"by a Terminate": func(a, b *side, x, y *verbs.Endpoint) {
			require.NoError(a.tb, x.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
			require.Equal(a.tb, verbs.EventBroken, b.event(y, a).Type)
			require.Equal(a.tb, verbs.EventBroken, a.event(x, b).Type)
		},
		"with reads under way": func(a, b *side, x, _ *verbs.Endpoint) {
			r := b.region.Remote(0, 1<<20)
			for range 4 {
				require.NoError(a.tb, x.Post(&verbs.WorkRequest{ID: 5, Op: verbs.OpRead, Segments: []verbs.Segment{a.region.Segment(0, 1<<20)}, RemoteAddress: r.Address, RKey: r.RKey}))
			}
			b.poll()
			require.NoError(a.tb, x.Disconnect(verbs.CloseAbrupt))
			for range 4 {
				a.done(x, 5)
			}
		},
		"with requests not answered": func(a, b *side, _, _ *verbs.Endpoint) {
			l := b.listen()
			require.NoError(a.tb, a.endpoint().Connect(l.Address(), connectOptions(nil)))
			b.request(a)
			require.NoError(a.tb, a.endpoint().Connect(l.Address(), connectOptions(nil)))
		},
		"with strangers waiting": func(_, b *side, _, _ *verbs.Endpoint) {
			for range 3 {
				dial(b.tb.(*testing.T), b, b.listen().Address())
				b.poll()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newSide(t, iwarp.Config{}, 1<<20), newSide(t, iwarp.Config{}, 1<<20)
			x, y := join(t, a, b)
			end(a, b, x, y)
		})
	}
	for end := time.Now().Add(patience); goruntime.NumGoroutine() > goroutines; goruntime.Gosched() {
		require.True(t, time.Now().Before(end), "goroutines are left")
	}
	require.Equal(t, fds, descriptors(t))
}

// TestNoGoroutines checks that a device without TLS starts no goroutine when it makes connections.
func TestNoGoroutines(t *testing.T) {
	before := goruntime.NumGoroutine()
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	for range 10 {
		join(t, a, b)
	}
	require.LessOrEqual(t, goruntime.NumGoroutine(), before)
}
