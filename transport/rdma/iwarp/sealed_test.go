package iwarp_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/certificate"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// secret returns the TLS configurations of a job.
func secret(tb testing.TB) *certificate.Sides {
	tb.Helper()
	c, err := certificate.New([]byte("a secret of the tests"), "test")
	require.NoError(tb, err)
	return c
}

// guess returns the TLS configuration of a stranger who knows everything about the job except its secret.
func guess(tb testing.TB) *tls.Config {
	tb.Helper()
	sides, err := certificate.New([]byte("a guess"), "test")
	require.NoError(tb, err)
	c := sides.Active()
	c.VerifyConnection = nil
	return c
}

// seal makes a provider encrypt its connections.
func seal(p *iwarp.Provider, s *certificate.Sides) { p.Secure(s.Passive, s.Active) }

// newSealed does the same as newSide, but its provider uses TLS.
func newSealed(tb testing.TB, c iwarp.Config, memory int) *side {
	tb.Helper()
	s := newSide(tb, c, memory)
	seal(s.provider, secret(tb))
	return s
}

// recorder forwards one connection to an address and records the bytes of one direction. It can change one byte
// of this direction.
type recorder struct {
	listener net.Listener
	to       string
	at       int
	back     bool
	// slow makes the recorder forward one byte at a time.
	slow bool

	mu    sync.Mutex
	taken []byte
	conns []net.Conn
	done  sync.WaitGroup
}

func newRecorder(tb testing.TB, to string, at int, back bool) *recorder {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	r := &recorder{listener: l, to: to, at: at, back: back}
	r.done.Go(r.run)
	return r
}

// close ends all connections, and returns the recorded bytes.
func (r *recorder) close() []byte {
	_ = r.listener.Close()
	r.mu.Lock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.done.Wait()
	return r.taken
}

func (r *recorder) run() {
	in, err := r.listener.Accept()
	if err != nil {
		return
	}
	r.mu.Lock()
	to := r.to
	r.mu.Unlock()
	out, err := net.Dial("tcp", to)
	if err != nil {
		_ = in.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, in, out)
	r.mu.Unlock()
	r.done.Go(func() { r.pass(out, in, !r.back) })
	r.done.Go(func() { r.pass(in, out, r.back) })
}

func (r *recorder) pass(to, from net.Conn, keep bool) {
	b := make([]byte, 64<<10)
	at := r.at
	for {
		n, err := from.Read(b)
		if keep {
			r.mu.Lock()
			r.taken = append(r.taken, b[:n]...)
			r.mu.Unlock()
			if at >= 0 && at < n {
				b[at] ^= 1 << (at % 8)
			}
			at -= n
		}
		step := n
		if r.slow {
			step = 1
		}
		var e error
		for i := 0; i < n && e == nil; i += step {
			_, e = to.Write(b[i : i+step])
		}
		if e != nil || err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

// deliver connects an endpoint of a with an endpoint of b through a recorder, and sends the text with a Write, a
// Send and a Read. It reports whether all of them have arrived.
func deliver(t *testing.T, a, b *side, r *recorder, text []byte) bool {
	t.Helper()
	l := b.listen()
	r.mu.Lock()
	r.to = l.Address().String()
	r.mu.Unlock()
	x, y := a.endpoint(), b.endpoint()
	defer func() {
		require.NoError(t, x.Free())
		require.NoError(t, y.Free())
		require.NoError(t, l.Close())
		drain(a, b)
	}()
	require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 9, Segments: []verbs.Segment{b.region.Segment(0, 4096)}}))
	o := sameProvider(nil)
	if r.at >= 0 {
		o.Timeout = 500 * time.Millisecond
	}
	require.NoError(t, x.Connect(r.listener.Addr().(*net.TCPAddr).AddrPort(), o))
	accepted := false
	most := patience
	if r.at >= 0 {
		most = time.Second // after a changed length the peer waits for bytes that never arrive
	}
	for end := time.Now().Add(most); ; goruntime.Gosched() {
		if r.at >= 0 && time.Now().After(end) {
			return false
		}
		require.True(t, time.Now().Before(end))
		a.poll()
		b.poll()
		for _, c := range take(b) {
			switch {
			case c.Stream == verbs.StreamConnectionRequest && !accepted:
				accepted = true
				require.NoError(t, c.Event.Request.Accept(y, nil))
			case c.Stream == verbs.StreamReceive && c.Status == verbs.StatusSuccess:
				require.Equal(t, text, b.memory[:c.Length], "what is delivered is what was sent")
				require.Equal(t, text, b.memory[8192:8192+len(text)], "and so is what was written")
			}
		}
		for _, c := range take(a) {
			switch {
			case c.Stream == verbs.StreamConnection && c.Event.Type == verbs.EventEstablished:
				copy(a.memory, text)
				to := b.region.Remote(8192, len(text))
				for id, q := range []verbs.WorkRequest{
					{Op: verbs.OpWrite, Segments: []verbs.Segment{a.region.Segment(0, len(text))}, RKey: to.RKey, RemoteAddress: to.Address},
					{Op: verbs.OpSend, Segments: []verbs.Segment{a.region.Segment(0, len(text))}},
					{Op: verbs.OpRead, Segments: []verbs.Segment{a.region.Segment(8192, len(text))}, RKey: to.RKey, RemoteAddress: to.Address},
				} {
					q.ID = uint64(id)
					require.NoError(t, x.Post(&q))
				}
			case c.Stream == verbs.StreamConnection:
				return false
			case c.Stream == verbs.StreamRequest && c.ID == 2:
				if c.Status == verbs.StatusSuccess {
					require.Equal(t, text, a.memory[8192:8192+len(text)], "what is read is what there is")
				}
				return c.Status == verbs.StatusSuccess
			}
		}
	}
}

// take returns the log and empties it.
func take(s *side) []verbs.Completion {
	list := s.log
	s.log = nil
	return list
}

// drain polls the sides until their connections have ended.
func drain(sides ...*side) {
	for range 100 {
		for _, s := range sides {
			s.poll()
			s.log = nil
		}
	}
}

// TestNobodyReadsWhatIsSealed checks that the recorded bytes of a connection with TLS do not contain the text.
// Without TLS they contain it.
func TestNobodyReadsWhatIsSealed(t *testing.T) {
	text := bytes.Repeat([]byte("attack at dawn! "), 20)
	for _, open := range []bool{true, false} {
		for _, back := range []bool{false, true} {
			a, b := newSide(t, iwarp.Config{}, 1<<16), newSide(t, iwarp.Config{}, 1<<16)
			if !open {
				seal(a.provider, secret(t))
				seal(b.provider, secret(t))
			}
			r := newRecorder(t, "", -1, back)
			require.True(t, deliver(t, a, b, r, text))
			taken := r.close()
			require.Greater(t, len(taken), len(text))
			require.Equal(t, open, bytes.Contains(taken, text[:16]))
			require.Equal(t, open, bytes.Contains(taken, []byte("MPA ID")))
		}
	}
}

// TestSealedByteByByte delivers the bytes of TLS one at a time.
func TestSealedByteByByte(t *testing.T) {
	a, b := newSealed(t, iwarp.Config{}, 1<<16), newSealed(t, iwarp.Config{}, 1<<16)
	r := newRecorder(t, "", -1, false)
	r.slow = true
	require.True(t, deliver(t, a, b, r, bytes.Repeat([]byte("attack at dawn! "), 20)))
	r.close()
}

// TestSealedBytesCannotBeChanged changes one byte of the handshake, of a message or of a Read. The test checks
// that the connection ends, and that no changed payload is delivered.
func TestSealedBytesCannotBeChanged(t *testing.T) {
	text := bytes.Repeat([]byte("attack at dawn! "), 20)
	step := 173
	if testing.Short() {
		step = 509
	}
	for _, back := range []bool{false, true} {
		a, b := newSealed(t, iwarp.Config{}, 1<<16), newSealed(t, iwarp.Config{}, 1<<16)
		r := newRecorder(t, "", -1, back)
		require.True(t, deliver(t, a, b, r, text))
		length, lost := len(r.close()), 0
		for at := 5; at < length-100; at += step { // from the length field on
			clear(b.memory)
			r := newRecorder(t, "", at, back)
			if !deliver(t, a, b, r, text) {
				lost++
			}
			r.close()
		}
		require.Equal(t, (length-100-5+step-1)/step, lost, "a changed byte was not detected")
	}
}

// TestSealedListenerTakesNothingInClear checks that a listener with TLS drops and counts connections whose peer
// does not use TLS or does not know the secret. It also checks that the listener drops a silent peer at the
// deadline, and that no goroutine is left.
func TestSealedListenerTakesNothingInClear(t *testing.T) {
	goroutines := goruntime.NumGoroutine()
	s := newSealed(t, iwarp.Config{RequestTimeout: patience}, 64) // long, so that a slow handshake is not dropped
	l := s.listen()
	count := s.provider.Counters()
	f, err := strangerOffer().Request(nil)
	require.NoError(t, err)
	p := dial(t, s, l.Address())
	p.send(f.Append(nil))
	p.pump(func() bool { p.take(); return p.eof })
	require.Equal(t, uint64(1), count.Strangers.Load())
	require.NotContains(t, string(p.in), "MPA")

	for i, c := range []*tls.Config{guess(t), {InsecureSkipVerify: true, NextProtos: []string{"gorun-mpa"}}} { //nolint:gosec // a stranger's
		raw, err := net.Dial("tcp", l.Address().String())
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			conn := tls.Client(raw, c)
			_, err := conn.Write(f.Append(nil))
			if err == nil {
				_, err = io.ReadAll(conn)
			}
			done <- err
		}()
		p.pump(func() bool { return count.Strangers.Load() == uint64(i+2) })
		require.Error(t, <-done)
		require.NoError(t, raw.Close())
	}

	require.NoError(t, l.Close())

	s = newSealed(t, iwarp.Config{RequestTimeout: 300 * time.Millisecond}, 64)
	l = s.listen()
	silent := dial(t, s, l.Address())
	half := dial(t, s, l.Address())
	half.send([]byte{22, 3, 1, 2, 0, 1, 0})
	silent.pump(func() bool { silent.take(); half.take(); return silent.eof && half.eof })
	require.Equal(t, uint64(2), s.provider.Counters().Late.Load())
	require.NoError(t, l.Close())
	for end := time.Now().Add(patience); goruntime.NumGoroutine() > goroutines; goruntime.Gosched() {
		require.True(t, time.Now().Before(end), "goroutines are left")
	}
}
