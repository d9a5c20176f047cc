package iwarp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// besiegedEnv is the environment variable that makes the test binary run as the besieged program: it listens,
// and its limit of open files is low.
const besiegedEnv = "GORUN_IWARP_BESIEGED"

func TestMain(m *testing.M) {
	if os.Getenv(besiegedEnv) != "" {
		if err := besieged(); err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	// filesMax is the limit of open files of the besieged program.
	filesMax = 256
	// filesOwn is the number of files that the program opens at a time, again and again.
	filesOwn = 100
	// filesLast is the number of files that the program closes when it has opened as many as it can.
	filesLast = 8
	// password is the private data of the requests that the program accepts.
	password = "a peer"
)

// files are the files that the besieged program has opened.
type files []*os.File

// open opens n more files, or as many as the system permits if n is negative.
func (f *files) open(n int) error {
	for ; n != 0; n-- {
		file, err := os.Open(os.DevNull)
		if err != nil {
			if n < 0 && errors.Is(err, unix.EMFILE) {
				return nil
			}
			return err
		}
		*f = append(*f, file)
	}
	return nil
}

// close closes n files, or all if n is negative.
func (f *files) close(n int) {
	for ; n != 0 && len(*f) > 0; n-- {
		_ = (*f)[len(*f)-1].Close()
		*f = (*f)[:len(*f)-1]
	}
}

// besieged accepts connection requests with the password, and rejects all others. Meanwhile it opens and closes
// files of its own. The order "all" on its standard input makes it open as many files as the system permits, and close
// filesLast of them. The order "some" makes it close the rest of these files. besieged returns when its standard input
// ends.
func besieged() error {
	limit := unix.Rlimit{Cur: filesMax, Max: filesMax}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	// The timeouts are so long that no descriptor is freed because of a timeout.
	provider := iwarp.New(iwarp.Config{RequestTimeout: time.Hour, CloseTimeout: time.Hour})
	adapter, err := verbs.Open(provider, loopback)
	if err != nil {
		return err
	}
	domain, err := adapter.NewProtectionDomain()
	if err != nil {
		return err
	}
	queue, err := adapter.NewCompletionQueue(1 << 12)
	if err != nil {
		return err
	}
	l, err := adapter.Listen(verbs.ListenOptions{Queue: queue})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, l.Address())
	orders := make(chan string)
	go func() {
		defer close(orders)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			orders <- in.Text()
		}
	}()
	var own, rest files
	most := filesOwn
	var into [64]verbs.Completion
	for {
		from := orders
		if most == filesLast && provider.Counters().Scarce.Load() == 0 {
			from = nil // no order is taken until the provider has run out of descriptors
		}
		select {
		case order, ok := <-from:
			switch {
			case !ok:
				rest.close(-1)
				c := provider.Counters()
				fmt.Fprintln(os.Stdout, c.Rejected.Load(), c.Strangers.Load(), c.Crowded.Load(), c.Scarce.Load())
				return adapter.Close()
			case order == "all":
				if err := rest.open(-1); err != nil {
					return err
				}
				rest.close(filesLast)
				most = filesLast
			case order == "some":
				rest.close(-1)
				most = filesOwn
			}
			fmt.Fprintln(os.Stdout, order)
		default:
		}
		if err := own.open(most); err != nil {
			return fmt.Errorf("its own %d files: %w", most, err)
		}
		own.close(-1)
		for _, c := range into[:queue.Poll(into[:])] {
			if err := respond(adapter, domain, queue, &c); err != nil {
				return err
			}
		}
	}
}

// respond accepts a request with the password, and sends back the messages that arrive.
func respond(a *verbs.Adapter, d *verbs.ProtectionDomain, q *verbs.CompletionQueue, c *verbs.Completion) error {
	switch {
	case c.Stream == verbs.StreamConnectionRequest:
		info, err := c.Event.Request.Query()
		if err != nil {
			return err
		}
		if string(info.Param.PrivateData) != password {
			return c.Event.Request.Reject([]byte("no"))
		}
		ep, err := a.NewEndpoint(verbs.EndpointConfig{Domain: d, Receives: q, Requests: q, Connections: q})
		if err != nil {
			return err
		}
		if err := ep.PostReceive(&verbs.ReceiveRequest{ID: 1}); err != nil {
			return err
		}
		return c.Event.Request.Accept(ep, nil)
	case c.Stream == verbs.StreamReceive && c.Status == verbs.StatusSuccess:
		return c.Endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend})
	case c.Stream == verbs.StreamConnection && c.Event.Type != verbs.EventEstablished:
		return c.Endpoint.Free()
	}
	return nil
}

// fortress is a running process that executes besieged.
type fortress struct {
	t   *testing.T
	at  netip.AddrPort
	in  io.WriteCloser
	out *bufio.Reader
}

func newFortress(t *testing.T) *fortress {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), besiegedEnv+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = in.Close()
		if t.Failed() {
			_ = c.Process.Kill()
		}
		_ = c.Wait()
	})
	f := &fortress{t: t, in: in, out: bufio.NewReader(out)}
	f.at, err = netip.ParseAddrPort(f.line())
	require.NoError(t, err)
	return f
}

func (f *fortress) line() string {
	f.t.Helper()
	line, err := f.out.ReadString('\n')
	require.NoError(f.t, err)
	return strings.TrimSpace(line)
}

// order sends the program an order and waits until the program has carried it out.
func (f *fortress) order(what string) {
	f.t.Helper()
	_, err := io.WriteString(f.in, what+"\n")
	require.NoError(f.t, err)
	require.Equal(f.t, what, f.line())
}

// besiege makes n connections of strangers. Each stranger behaves in one of four ways, and keeps its
// connection open until the test ends.
func (f *fortress) besiege(n int, gone *sync.WaitGroup) {
	f.t.Helper()
	request, err := strangerOffer().Request(make([]byte, 60))
	require.NoError(f.t, err)
	for i := range n {
		conn, err := net.Dial("tcp", f.at.String())
		if err != nil {
			require.NoError(f.t, err, "the program: %s", f.line())
		}
		f.t.Cleanup(func() { _ = conn.Close() })
		switch i % 4 {
		case 0, 1: // a request that is rejected
			_, _ = conn.Write(request.Append(nil))
		case 2: // a request that is followed by many more bytes
			gone.Add(1)
			go func() {
				defer gone.Done()
				_, err := conn.Write(request.Append(nil))
				for b := make([]byte, 1<<16); err == nil; {
					_, err = conn.Write(b)
				}
			}()
		case 3:
			if i%8 == 3 { // the other strangers send nothing
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n")
			}
		}
	}
}

// visit connects as a peer does, sends a message, and waits until the message has come back. It connects again
// if the provider has dropped its connection together with connections of strangers.
func (f *fortress) visit(s *side) {
	f.t.Helper()
	for end := time.Now().Add(patience); ; {
		ep := s.endpoint()
		require.NoError(f.t, ep.PostReceive(&verbs.ReceiveRequest{ID: 1}))
		require.NoError(f.t, ep.Connect(f.at, connectOptions(&verbs.ConnParam{
			PrivateData: []byte(password), ResponderResources: verbs.DepthDefault, InitiatorDepth: verbs.DepthDefault,
		})))
		if e := s.event(ep); e.Type != verbs.EventEstablished {
			require.Equal(f.t, verbs.EventNonPeerRejected, e.Type)
			require.True(f.t, time.Now().Before(end), "a peer cannot connect: %v", e.Err)
			require.NoError(f.t, ep.Free())
			continue
		}
		require.NoError(f.t, ep.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend}))
		require.Equal(f.t, verbs.StatusSuccess, s.done(ep, 1).Status)
		require.NoError(f.t, ep.Disconnect(verbs.CloseGraceful))
		require.Equal(f.t, verbs.EventDisconnected, s.event(ep).Type)
		require.NoError(f.t, ep.Free())
		return
	}
}

// TestStrangersLeaveTheProgramItsFiles has strangers make more connections than the number of files that the
// besieged program may open. The strangers keep the connections open. The test checks that the program can
// still open its own files, and that peers can still connect.
func TestStrangersLeaveTheProgramItsFiles(t *testing.T) {
	const rounds, each = 10, 80
	f := newFortress(t)
	s := newSide(t, iwarp.Config{}, 64)
	var gone sync.WaitGroup
	t.Cleanup(gone.Wait)
	for range rounds {
		f.besiege(each, &gone)
		f.visit(s)
	}
	// When the program opens its last files, the provider has to close waiting connections.
	f.order("all")
	f.besiege(each, &gone)
	f.order("some")
	f.visit(s)
	require.NoError(t, f.in.Close())
	var rejected, strangers, crowded, scarce int
	line := f.line()
	_, err := fmt.Sscan(line, &rejected, &strangers, &crowded, &scarce)
	require.NoError(t, err, line)
	require.Positive(t, rejected)
	require.Positive(t, strangers)
	require.Positive(t, crowded)
	require.Positive(t, scarce)
}
