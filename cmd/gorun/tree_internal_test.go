package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	goruntime "runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// branchOutput is a writer that sends its bytes as the output of a command of an agent.
type branchOutput struct {
	conn   *link.Conn
	number int
}

func (o branchOutput) Write(p []byte) (int, error) {
	o.conn.Send(link.KindExecOutput, link.Numbered(o.number), p)
	return len(p), nil
}

// serveBranches simulates an agent with commands that reach two agents below it. Each of the two agents sends
// its Hello. Then the first agent writes a whole window of output. Only after that, the second agent starts
// its ranks.
func serveBranches(in, out *os.File) {
	hello := link.Encode(link.Hello{Probe: link.Probe{PID: 1, Nonce: make([]byte, link.NonceBytes)}, Machine: []placement.Domain{{Processors: []int{0}}}})
	_, _ = out.Write(link.Preamble(moduleVersion()))
	conn := link.NewConn(bufio.NewReader(in), out)
	defer conn.Watch(link.Silence, func() {})()
	var below []*link.Conn
	for {
		k, _, err := conn.Receive()
		switch {
		case err != nil:
			return
		case k == link.KindGreet:
			conn.Send(link.KindHello, hello)
		case k == link.KindExec:
			to := branchOutput{conn, len(below)}
			_, _ = to.Write(link.Preamble(moduleVersion()))
			b := link.NewConn(nil, to)
			defer b.Watch(link.Silence, func() {})()
			b.Send(link.KindHello, hello)
			if below = append(below, b); len(below) < 2 {
				continue
			}
			below[0].Send(link.KindOutput, link.Target{Stream: link.Stdout}.Append(nil), make([]byte, link.WindowBytes))
			_ = below[0].Flush()
			below[1].Send(link.KindStarted, link.Encode(link.Started{}))
		}
	}
}

// The launcher reads output only after all ranks run. Output of a host whose ranks already run must still not
// delay another host that is reached through the same parent.
func TestOutputDelaysNoStart(t *testing.T) {
	j := &job{opts: &options{}, files: &files{}}
	top := &host{job: j, name: "a", input: newWindow(), exited: make(chan struct{}), errs: &remarks{job: j}, begun: true}
	for i, name := range []string{"b", "c"} {
		top.below = append(top.below, &host{job: j, name: name, line: []string{"rsh", name, "gorun", agentCommand}, via: top, number: i})
	}
	in, toAgent, err := os.Pipe()
	require.NoError(t, err)
	fromAgent, out, err := os.Pipe()
	require.NoError(t, err)
	top.in, top.out = toAgent, fromAgent
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serveBranches(in, out)
	}()
	require.NoError(t, j.greetAll([]*host{top}))
	for _, want := range []struct {
		from *host
		kind link.Kind
	}{{top.below[1], link.KindStarted}, {top.below[0], link.KindOutput}} {
		require.NoError(t, want.from.within(time.Minute, func(h *host) error {
			_, err := h.expect(want.kind)
			return err
		}))
	}
	for _, h := range append(top.below, top) {
		h.quit()
	}
	require.NoError(t, toAgent.Close())
	<-ended
	require.NoError(t, out.Close()) // the loss of the agent closes the other streams
	require.Error(t, top.frames.take().err)
	for _, h := range top.below {
		require.Error(t, h.frames.take().err)
	}
	require.NoError(t, in.Close())
}

// safeBuffer is a buffer that several goroutines may write to.
type safeBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// lateWriter yields to other goroutines before it writes.
type lateWriter struct{ to io.Writer }

func (w lateWriter) Write(p []byte) (int, error) {
	for range 1000 {
		goruntime.Gosched()
	}
	return w.to.Write(p)
}

// pause returns only after the announcement that gorun stops was sent to all agents, including agents below other
// agents.
func TestPauseReachesTheTree(t *testing.T) {
	var said safeBuffer
	top := &host{name: "a", conn: link.NewConn(nil, &said)}
	middle := &host{name: "b", via: top}
	middle.conn = link.NewConn(nil, tunnel{middle})
	leaf := &host{name: "c", via: middle}
	leaf.conn = link.NewConn(nil, lateWriter{tunnel{leaf}})
	j := &job{opts: &options{}, hosts: []*host{top, middle, leaf}}
	j.pause()
	said.mu.Lock()
	defer said.mu.Unlock()
	level, pauses := said.text.Bytes(), 0
	for range j.hosts {
		var inner []byte
		require.NoError(t, framesOf(level, func(k link.Kind, body []byte) error {
			if k == link.KindPause {
				pauses++
				return nil
			}
			_, rest, err := link.ParseNumbered(body)
			inner = append(inner, rest...)
			return err
		}))
		level = inner
	}
	require.Equal(t, len(j.hosts), pauses)
}

// If no frames arrive from a host, the cause depends on its parent. If frames of the parent arrive
// afterwards, the host itself is the cause. If the parent is lost, the parent is the cause.
func TestSilenceOfAHostBelowAnother(t *testing.T) {
	for want, event := range map[string]func(top *host, beat func()){
		"silent for": func(_ *host, beat func()) { beat() },
		"reached through host a, which is lost: no cable": func(top *host, _ func()) { top.giveUp(errors.New("no cable")) },
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			top := &host{name: "a", conn: link.NewConn(bufio.NewReader(r), io.Discard)}
			leaf := &host{name: "b", via: top}
			go func() { _, _, _ = top.conn.Receive() }()
			result := make(chan error, 1)
			go func() { result <- leaf.silence() }()
			synctest.Wait()
			require.Empty(t, result, "neither has happened")
			event(top, func() {
				_, err := w.Write(link.AppendFrame(nil, link.KindBeat))
				require.NoError(t, err)
			})
			synctest.Wait()
			require.ErrorContains(t, <-result, want)
			require.NoError(t, w.Close())
		})
	}
}

// radix returns the largest number of agents that gorun and each agent start. It takes the number from the
// environment, or returns the default.
func TestRadix(t *testing.T) {
	for text, want := range map[string]int{"": radixDefault, "1": 1, "1000": 1000} {
		t.Setenv(radixEnv, text)
		n, err := radix()
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for _, text := range []string{"0", "-1", "x", "2x", " 2", "99999999999999999999"} {
		t.Setenv(radixEnv, text)
		_, err := radix()
		require.ErrorContains(t, err, radixEnv+"="+text+": want the number of hosts")
	}
}
