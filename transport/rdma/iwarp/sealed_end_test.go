package iwarp_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// firstFlight returns the first bytes that an active side of the job sends.
func firstFlight(t *testing.T) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go func() { _ = tls.Client(a, secret(t).Active()).Handshake() }()
	buf := make([]byte, 8192)
	n, err := b.Read(buf)
	require.NoError(t, err)
	return bytes.Clone(buf[:n])
}

// TestSealedAttemptsAreAbandoned checks that a rank of the job that abandons its attempt during the TLS handshake does
// not count as a stranger, and that nothing is logged. A rank does so if its peer connects to it at the same time.
func TestSealedAttemptsAreAbandoned(t *testing.T) {
	for name, c := range map[string]struct{ answered, reset bool }{
		"reset before the answer": {false, true}, "reset after the answer": {true, true},
		"FIN before the answer": {false, false}, "FIN after the answer": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			s := newSide(t, iwarp.Config{Log: func(line string) { lines = append(lines, line) }}, 64)
			seal(s.provider, secret(t))
			p := dial(t, s, s.listen().Address())
			_, err := p.conn.Write(firstFlight(t))
			require.NoError(t, err)
			if c.answered {
				answer := make(chan error, 1)
				go func() {
					_, err := p.conn.Read(make([]byte, 1))
					answer <- err
				}()
				p.pump(func() bool { return len(answer) > 0 })
				require.NoError(t, <-answer)
			}
			if c.reset {
				require.NoError(t, p.conn.SetLinger(0))
			}
			require.NoError(t, p.conn.Close())
			k := s.provider.Counters()
			p.pump(func() bool { return k.HungUp.Load()+k.Strangers.Load() > 0 })
			require.NoError(t, s.adapter.Close())
			require.Empty(t, lines)
			require.Equal(t, []uint64{1, 0}, []uint64{k.HungUp.Load(), k.Strangers.Load()})
		})
	}
}

// changed is a record of TLS that the receiver cannot authenticate.
var changed = append([]byte{23, 3, 3, 0, 20}, bytes.Repeat([]byte{1}, 20)...)

// TestSealedReplyIsMissing checks that the active side names the cause if no reply arrives after the handshake of TLS.
func TestSealedReplyIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(conn *net.TCPConn) error
		want error
	}{
		"reset":         {func(conn *net.TCPConn) error { _ = conn.SetLinger(0); return conn.Close() }, syscall.ECONNRESET},
		"changed bytes": {func(conn *net.TCPConn) error { _, err := conn.Write(changed); return err }, iwarp.ErrNotSealed},
	} {
		t.Run(name, func(t *testing.T) {
			a := newSealed(t, iwarp.Config{}, 64)
			l, at := host(t)
			x := a.endpoint()
			require.NoError(t, x.Connect(at, sameProvider(nil)))
			p := pick(t, a, l)
			request := make(chan error, 1)
			go func() {
				_, err := tls.Server(p.conn, secret(t).Passive).Read(make([]byte, 512))
				request <- err
			}()
			p.pump(func() bool { return len(request) > 0 })
			require.NoError(t, <-request)
			require.NoError(t, c.end(p.conn))
			require.ErrorIs(t, a.event(x).Err, c.want)
		})
	}
}

// TestSealedRequestIsChanged checks that a request whose bytes were changed in transit counts as a stranger's.
func TestSealedRequestIsChanged(t *testing.T) {
	s := newSide(t, iwarp.Config{Log: func(string) {}}, 64)
	seal(s.provider, secret(t))
	p := dial(t, s, s.listen().Address())
	done := make(chan error, 1)
	go func() { done <- tls.Client(p.conn, secret(t).Active()).Handshake() }()
	p.pump(func() bool { return len(done) > 0 })
	require.NoError(t, <-done)
	_, err := p.conn.Write(changed)
	require.NoError(t, err)
	k := s.provider.Counters()
	p.pump(func() bool { return k.HungUp.Load()+k.Strangers.Load() > 0 })
	require.NoError(t, s.adapter.Close())
	require.Equal(t, []uint64{0, 1}, []uint64{k.HungUp.Load(), k.Strangers.Load()})
}

// TestSealedConnectionIsReset checks that a reset of the peer does not count as a fault of the encryption.
func TestSealedConnectionIsReset(t *testing.T) {
	a, b := newSealed(t, iwarp.Config{}, 64), newSealed(t, iwarp.Config{}, 64)
	x, y := join(t, a, b)
	require.NoError(t, x.Free())
	require.ErrorIs(t, b.event(y, a).Err, syscall.ECONNRESET)
	require.Zero(t, b.provider.Counters().Unsealed.Load())
}
