package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

const (
	// patience ends a test that hangs.
	patience = 30 * time.Second
	// programMark is the environment variable that makes the test binary run the program.
	programMark = "RDMA_EXAMPLE_IS_PROGRAM"
)

func TestMain(m *testing.M) {
	if os.Getenv(programMark) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program returns a command that runs the program as a process, and the buffer of its standard
// error.
func program(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	// Without this option, a process with the race detector sleeps for a second at its end.
	cmd.Env = append(os.Environ(), programMark+"=1", "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.Stderr = &stderr
	return cmd, &stderr
}

// addresses returns the loopback addresses of the families, IPv4 and IPv6, that the machine has.
func addresses(t *testing.T) []string {
	t.Helper()
	all := []string{"127.0.0.1:0"}
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Logf("no IPv6 here: %v", err)
		return all
	}
	require.NoError(t, l.Close())
	return append(all, "[::1]:0")
}

// listening reads the first line of the server and returns its address.
func listening(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening at ")
	require.True(t, ok, line)
	return address
}

func TestProcesses(t *testing.T) {
	for _, at := range addresses(t) {
		for _, size := range []int{1, 64, 300_000} {
			t.Run(fmt.Sprintf("%s %d", at, size), func(t *testing.T) {
				server, serverErrors := program(t, "-listen", at, "-v")
				pipe, err := server.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, server.Start())
				lines := bufio.NewReader(pipe)
				client, clientErrors := program(t, "-connect", listening(t, lines), "-count", "3", "-size", fmt.Sprint(size), "-v")
				said, err := client.Output()
				require.NoError(t, err, clientErrors)
				served, err := io.ReadAll(lines)
				require.NoError(t, err)
				require.NoError(t, server.Wait(), serverErrors)
				require.Regexp(t, fmt.Sprintf(`(?s)^(round \d: %d bytes came back: "r?.*"\n){3}3 rounds of %d bytes verified, \S+ each\n$`, size, size), string(said))
				require.Regexp(t, fmt.Sprintf(`(?s)^(round \d: read and wrote %d bytes: "r?.*"\n){3}3 rounds verified\n$`, size), string(served))
			})
		}
	}
}

func TestUnexpectedArgument(t *testing.T) {
	p, said := program(t, "-listen", "127.0.0.1:0", "stray")
	require.Error(t, p.Run())
	require.Equal(t, 2, p.ProcessState.ExitCode())
	require.Contains(t, said.String(), "unexpected argument: stray\nUsage of ")
}

// TestInterruptedServer checks that the program ends on ^C and reports the interruption.
func TestInterruptedServer(t *testing.T) {
	server, serverErrors := program(t, "-listen", "127.0.0.1:0")
	pipe, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	listening(t, bufio.NewReader(pipe))
	require.NoError(t, server.Process.Signal(os.Interrupt))
	require.Error(t, server.Wait())
	require.Contains(t, serverErrors.String(), "interrupt")
}

// TestPattern checks two patterns of rping. In the second pattern, 'A' follows 'z' in the sequence of
// characters.
func TestPattern(t *testing.T) {
	require.Equal(t, "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr\x00", string(pattern(64, 0)))
	require.Equal(t, "rdma-ping-57: zABCDE\x00", string(pattern(21, 57)))
	require.Equal(t, "rdma\x00", string(pattern(5, 7)))
}

// begin runs a server as a goroutine. begin returns the address of the server and a channel that gets the
// result of the server.
func begin(t *testing.T, at string) (string, <-chan error) {
	t.Helper()
	r, w := io.Pipe()
	end := make(chan error, 1)
	go func() {
		err := run(t.Context(), &options{listen: at, count: 1, size: 1, timeout: patience}, log.New(w, "", 0))
		_ = w.Close() // this Close never fails
		end <- err
	}()
	lines := bufio.NewReader(r)
	address := listening(t, lines)
	go func() { _, _ = io.Copy(io.Discard, lines) }() // this copy ends when the server has ended
	return address, end
}

// ended waits for the end of a server or of a client.
func ended(t *testing.T, end <-chan error) error {
	t.Helper()
	select {
	case err := <-end:
		return err
	case <-time.After(patience):
		require.FailNow(t, "it goes on")
		return nil
	}
}

func TestGoroutines(t *testing.T) {
	before := descriptors(t)
	for _, at := range addresses(t) {
		address, end := begin(t, at)
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &options{connect: address, count: 200, size: 5000, timeout: patience}, log.New(&out, "", 0)))
		require.NoError(t, ended(t, end))
		require.Regexp(t, `^200 rounds of 5000 bytes verified, \S+ each\n$`, out.String())
	}
	// The number may also be lower than before, because the garbage collector may close descriptors of
	// earlier tests.
	require.LessOrEqual(t, descriptors(t), before, "descriptors are left")
}

// descriptors returns the number of open files, including the files that the Go runtime keeps for polling.
func descriptors(t *testing.T) int {
	t.Helper()
	// The call of Listen makes the Go runtime open the descriptors that it keeps for polling.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// stranger listens and calls do with every connection.
func stranger(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			do(c)
		}
	}()
	return l.Addr().String()
}

// full listens at an address whose backlog has no room for another connection.
func full(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Close(fd)) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return address
}

// TestWhatANewcomerMeets checks the errors for typical mistakes of new users. An error must say what the user
// should check.
func TestWhatANewcomerMeets(t *testing.T) {
	short := 50 * time.Millisecond
	closed := stranger(t, func(c net.Conn) { _ = c.Close() })
	for _, tc := range []struct {
		name string
		o    options
		says string
	}{
		{"neither", options{}, "either -listen or -connect"},
		{"both", options{listen: "127.0.0.1:1", connect: "127.0.0.1:1"}, "either -listen or -connect"},
		{"no rounds", options{connect: "127.0.0.1:1", size: 1, timeout: short}, "-count is at least 1"},
		{"too much", options{connect: "127.0.0.1:1", count: 1, size: sizeMax + 1, timeout: short}, "-size from 1"},
		{"no port", options{connect: "127.0.0.1", count: 1, size: 1, timeout: short}, "missing port"},
		{"no address", options{listen: ":7174", count: 1, size: 1, timeout: short}, "which address"},
		{"not ours", options{listen: "192.0.2.1:7174", count: 1, size: 1, timeout: short}, "no such interface"},
		{"taken", options{listen: closed, count: 1, size: 1, timeout: short}, "address already in use"},
		{"no listener", options{connect: "127.0.0.1:1", count: 1, size: 1, timeout: patience}, "nothing listens there"},
		{"closes", options{connect: closed, count: 1, size: 1, timeout: patience}, "no RDMA server"},
		{"another protocol", options{connect: stranger(t, func(c net.Conn) {
			// The write may fail, because the peer may already have closed the connection.
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		}), count: 1, size: 1, timeout: patience}, "no RDMA server"},
		{"silent", options{connect: stranger(t, func(net.Conn) {}), count: 1, size: 1, timeout: short}, "no answer"},
		{"full", options{connect: full(t), count: 1, size: 1, timeout: short}, "not reached"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.ErrorContains(t, run(t.Context(), &tc.o, log.New(io.Discard, "", 0)), tc.says)
		})
	}
}

// liar is a client that announces a source with the data and a writable sink. The function change
// modifies both announcements before they are sent.
func liar(t *testing.T, address string, data []byte, change func(source, sink *announcement)) {
	t.Helper()
	adapter, err := verbs.Open(iwarp.New(iwarp.Config{}), "127.0.0.1")
	require.NoError(t, err)
	defer func() { require.NoError(t, adapter.Close()) }()
	l, err := newLink(adapter)
	require.NoError(t, err)
	require.NoError(t, l.endpoint.Connect(netip.MustParseAddrPort(address), verbs.ConnectOptions{Timeout: patience}))
	_, err = l.await(t.Context(), event)
	require.NoError(t, err)
	var both [2]announcement
	for i, access := range []verbs.Access{verbs.AccessRemoteRead, verbs.AccessLocalWrite | verbs.AccessRemoteWrite} {
		m, err := l.domain.Register(bytes.Clone(data), access)
		require.NoError(t, err)
		at := m.Remote(0, 1)
		both[i] = announcement{Address: at.Address, Key: at.RKey, Length: uint32(len(data))}
	}
	change(&both[0], &both[1])
	for _, a := range both {
		require.NoError(t, l.announce(a))
		if _, err = l.hear(t.Context()); err != nil {
			return
		}
	}
	require.FailNow(t, "the server goes along")
}

// TestOneClient checks that the server serves one client at a time. While it serves a client, a second client
// gets the error that nothing listens.
func TestOneClient(t *testing.T) {
	address, end := begin(t, "127.0.0.1:0")
	adapter, err := verbs.Open(iwarp.New(iwarp.Config{}), "127.0.0.1")
	require.NoError(t, err)
	l, err := newLink(adapter)
	require.NoError(t, err)
	require.NoError(t, l.endpoint.Connect(netip.MustParseAddrPort(address), verbs.ConnectOptions{Timeout: patience}))
	_, err = l.await(t.Context(), event)
	require.NoError(t, err)
	second := options{connect: address, count: 1, size: 1, timeout: patience}
	require.ErrorContains(t, run(t.Context(), &second, log.New(io.Discard, "", 0)), "nothing listens")
	require.NoError(t, adapter.Close())
	require.ErrorContains(t, ended(t, end), "after 0 rounds")
}

// TestClientChecks checks that a client detects servers that violate the protocol.
func TestClientChecks(t *testing.T) {
	for _, tc := range []struct {
		name  string
		reply func(*link) error
		says  string
	}{
		{"nothing written", func(l *link) error {
			if err := l.announce(announcement{}); err != nil {
				return err
			}
			if _, err := l.hear(context.Background()); err != nil {
				return err
			}
			return l.announce(announcement{})
		}, "what came back"},
		{"says nothing", func(l *link) error { return l.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend}) }, "round 0: a message of 0 bytes, want 16"},
		{"goes away", func(l *link) error { return l.endpoint.Disconnect(verbs.CloseGraceful) }, "round 0: the connection was ended"},
		{"breaks", func(l *link) error { return l.endpoint.Disconnect(verbs.CloseAbrupt) }, "BROKEN"},
		{"writes anywhere", func(l *link) error {
			return l.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpWrite, Segments: []verbs.Segment{l.message.Segment(0, 1)}})
		}, "BROKEN"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			adapter, err := verbs.Open(iwarp.New(iwarp.Config{}), "127.0.0.1")
			require.NoError(t, err)
			defer func() { require.NoError(t, adapter.Close()) }()
			l, err := newLink(adapter)
			require.NoError(t, err)
			listener, err := adapter.Listen(verbs.ListenOptions{Queue: l.queue})
			require.NoError(t, err)
			end := make(chan error, 1)
			go func() {
				end <- run(t.Context(), &options{connect: listener.Address().String(), count: 1, size: 100, timeout: patience}, log.New(io.Discard, "", 0))
			}()
			c, err := l.await(t.Context(), event)
			require.NoError(t, err)
			require.NoError(t, l.expect())
			require.NoError(t, c.Event.Request.Accept(l.endpoint, nil))
			_, err = l.await(t.Context(), verbs.OpReceive)
			require.NoError(t, err)
			require.NoError(t, tc.reply(&l))
			_, err = l.await(t.Context(), verbs.OpReceive)
			require.Error(t, err, "until the client has gone")
			require.ErrorContains(t, ended(t, end), tc.says)
		})
	}
}

// TestServerChecks checks that a server detects clients that violate the protocol.
func TestServerChecks(t *testing.T) {
	for _, tc := range []struct {
		name   string
		data   []byte
		change func(source, sink *announcement)
		says   string
	}{
		{"other data", []byte("something else"), func(_, _ *announcement) {}, "not what a client announces"},
		{"other round", pattern(100, 1), func(_, _ *announcement) {}, "not what a client announces"},
		{"wrong key", pattern(100, 0), func(source, _ *announcement) { source.Key++ }, "remote access error"},
		{"too much", pattern(100, 0), func(source, _ *announcement) { source.Length = sizeMax + 1 }, "a source of 67108865 bytes"},
		{"nothing", pattern(100, 0), func(source, _ *announcement) { source.Length = 0 }, "a source of 0 bytes"},
		{"no place", pattern(100, 0), func(_, sink *announcement) { sink.Length-- }, "a sink of 99 bytes is announced for 100"},
		{"no right to write", pattern(100, 0), func(source, sink *announcement) { *sink = *source }, "BROKEN"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address, end := begin(t, "127.0.0.1:0")
			liar(t, address, tc.data, tc.change)
			require.ErrorContains(t, ended(t, end), tc.says)
		})
	}
}
