package iwarp_test

import (
	"net"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// flood makes n connections from an address, writes the bytes of its last argument on each of them, and keeps
// them open. The listener's side is polled once for each connection.
func flood(t *testing.T, s *side, l *verbs.Listener, from string, n int, says []byte) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	for range n {
		c, err := d.Dial("tcp", l.Address().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = c.Write(says)
		require.NoError(t, err)
		s.poll()
	}
}

// TestKnockCostsNoGoroutine checks that the provider starts no goroutine for a connection before the first
// record of TLS has arrived as a whole.
func TestKnockCostsNoGoroutine(t *testing.T) {
	const n = 20
	s := newSealed(t, iwarp.Config{RequestTimeout: patience}, 64)
	l := s.listen()
	before := goruntime.NumGoroutine()
	for _, says := range [][]byte{nil, {22}, {22, 3, 1, 2, 0, 1, 0}, append([]byte{22, 3, 1, 0x10, 0}, make([]byte, 4095)...)} {
		flood(t, s, l, "127.0.0.1", n, says)
	}
	for range 100 {
		s.poll()
	}
	require.LessOrEqual(t, goruntime.NumGoroutine(), before, "one of an earlier test may have ended since")
	for _, says := range [][]byte{{22, 3, 1, 0x10, 1}, {23, 3, 1, 0, 1}, {22, 2, 0, 0, 1}} {
		count := s.provider.Counters().Strangers.Load()
		flood(t, s, l, "127.0.0.1", 1, says)
		p := dial(t, s, l.Address())
		p.pump(func() bool { return s.provider.Counters().Strangers.Load() == count+1 })
	}
	require.LessOrEqual(t, goruntime.NumGoroutine(), before)
	require.NoError(t, l.Close())
}

// TestKnockOfOneAddress makes many connections from one address. The test checks that they do not displace the
// half-open connection of another address, whose request arrives slowly.
func TestKnockOfOneAddress(t *testing.T) {
	const places = 8
	s := newSide(t, iwarp.Config{HalfOpenMax: places, RequestTimeout: patience}, 64)
	l := s.listen()
	flood(t, s, l, "127.0.0.2", places, nil)
	p := dial(t, s, l.Address())
	f, err := strangerOffer().Request(nil)
	require.NoError(t, err)
	b := f.Append(nil)
	p.send(b[:10])
	flood(t, s, l, "127.0.0.2", 10*places, nil)
	p.pump(func() bool { return s.provider.Counters().Crowded.Load() == 10*places+1 })
	p.send(b[10:])
	p.pump(func() bool { p.take(); require.False(t, p.eof); return len(s.log) > 0 })
	require.Equal(t, verbs.StreamConnectionRequest, s.log[0].Stream)
	require.NoError(t, s.request().Reject(nil))
	require.NoError(t, l.Close())
}

// TestKnockOfARecordedHello sends the recorded first TLS record of a rank again. The test checks that the
// provider drops it as a stranger, without a handshake.
func TestKnockOfARecordedHello(t *testing.T) {
	a, b := newSealed(t, iwarp.Config{}, 1<<16), newSealed(t, iwarp.Config{}, 1<<16)
	r := newRecorder(t, "", -1, false)
	require.True(t, deliver(t, a, b, r, []byte("a text")))
	said := r.close()
	hello := said[:5+int(said[3])<<8+int(said[4])]
	l := b.listen()
	for n := range uint64(3) {
		p := dial(t, b, l.Address())
		p.send(hello)
		p.pump(func() bool { p.take(); return p.eof })
		require.Equal(t, n+1, b.provider.Counters().Strangers.Load())
		require.LessOrEqual(t, len(p.in), 7, "an alert at most")
	}
	require.NoError(t, l.Close())
}
