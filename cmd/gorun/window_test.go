package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// agentLink is the connection of the test to an agent. The test simulates the launcher.
type agentLink struct {
	*link.Conn
	run *run
	in  io.Closer
}

// startAgent starts an agent and greets it.
func startAgent(t *testing.T) *agentLink {
	t.Helper()
	a := &agentLink{run: command(t, nil, "-gorun-agent")}
	in, err := a.run.StdinPipe()
	require.NoError(t, err)
	out := a.run.lines(t)
	require.NoError(t, a.run.Start())
	_, _, err = link.ReadPreamble(out)
	require.NoError(t, err)
	a.Conn, a.in = link.NewConn(out, in), in
	a.Send(link.KindGreet, link.Encode(link.Greet{}))
	t.Cleanup(a.Watch(time.Hour, func() {}))
	return a
}

// expect receives frames until a frame of the kind want arrives. It returns the body of that frame, and the
// number of bytes in the ranks' frames before it.
func (a *agentLink) expect(t *testing.T, want link.Kind) (up int, body []byte) {
	t.Helper()
	for {
		k, body, err := a.Receive()
		require.NoError(t, err)
		if k == want {
			return up, body
		}
		if k == link.KindUp {
			up += len(body)
		}
	}
}

// The frames that ranks send to gorun have a window. If a rank sends reports
// without end, its agent does not read them any more when the window is full. Signals and output must still pass.
func TestReportsHaveAWindow(t *testing.T) {
	a := startAgent(t)
	a.expect(t, link.KindHello)
	a.Send(link.KindPlan, link.Encode(link.Plan{
		Generations: 1, Job: "1-ab", Host: "a", Size: 1, Nodes: 1, OnFailure: "kill", Secret: make([]byte, link.SecretBytes), Dir: "/", Bind: placement.None,
		Programs: []link.Program{{Path: link.Text(self), Args: link.Texts([]string{self, helperPrefix + "report"})}}, Ranks: []link.Rank{{}},
	}))
	up, _ := a.expect(t, link.KindStarted)
	all := up
	up, _ = a.expect(t, link.KindOutput) // the line "ready"
	all += up
	const frameMost = 64 << 10
	for _, granted := range []int{link.WindowBytes, link.WindowBytes * 3 / 2} {
		if granted > link.WindowBytes {
			a.Send(link.KindCredit, link.Target{}.Append(nil), link.Amount(granted-link.WindowBytes))
		}
		for all < granted { // until the whole window is used
			up, body := a.expect(t, link.KindUp)
			all += up + len(body)
		}
		// Without the window, the rank would send more reports while the test waits for each answer to a
		// signal.
		for range 100 {
			a.Send(link.KindSignal, link.Target{}.Append(nil), link.Amount(int(unix.SIGUSR1)))
			up, _ = a.expect(t, link.KindOutput)
			a.Send(link.KindCredit, link.Target{Stream: link.Stdout}.Append(nil), link.Amount(len("SIGUSR1\n")))
			all += up
		}
		require.Less(t, all, granted+frameMost)
	}
	require.NoError(t, a.in.Close())
	require.Equal(t, 125, a.run.wait(t))
	gone(t, a.run)
}

// An agent begins the next generation while the window of the ranks' frames is full. The credit for these frames
// may arrive after the renewal.
func TestRenewalWhileTheWindowIsFull(t *testing.T) {
	a := startAgent(t)
	defer time.AfterFunc(limit, func() { kill9(a.run.Process.Pid) }).Stop()
	a.expect(t, link.KindHello)
	a.Send(link.KindPlan, link.Encode(link.Plan{
		Generations: 2, Job: "1-ab", Host: "a", Size: 2, Nodes: 2, OnFailure: "respawn", Secret: make([]byte, link.SecretBytes), Dir: "/", Bind: placement.None,
		Programs: []link.Program{{Path: link.Text(self), Args: link.Texts([]string{self, helperPrefix + "report"})}}, Ranks: []link.Rank{{}},
	}))
	all, _ := a.expect(t, link.KindStarted)
	up, _ := a.expect(t, link.KindOutput) // the line "ready"
	for all += up; all < link.WindowBytes; {
		up, body := a.expect(t, link.KindUp)
		all += up + len(body)
	}
	for range 100 { // meanwhile the rank begins a report that waits, because the window is full
		a.Send(link.KindSignal, link.Target{}.Append(nil), link.Amount(int(unix.SIGUSR1)))
		a.expect(t, link.KindOutput)
	}
	server := bootstrap.NewServer(2, func(bootstrap.Event) {})
	way, other := server.Link([]int{0}, downTo{a}), server.Link([]int{1}, io.Discard)
	begun, err := server.Renew(bootstrap.Next{
		Lost: []int{1}, Links: map[*bootstrap.Link][]int{way: {0}, other: {1}},
		Plan: link.Encode(link.Next{Lost: []int{1}, Generation: 1, Nodes: 2, Parts: []link.Part{{Ranks: []int{0}}}}),
	})
	require.NoError(t, err)
	require.True(t, begun)
	_, body := a.expect(t, link.KindRenewed)
	n, err := link.Decode[link.Renewed](body)
	require.NoError(t, err)
	require.Equal(t, link.Renewed{}, n)
	require.NoError(t, a.in.Close())
	require.Equal(t, 125, a.run.wait(t))
	gone(t, a.run)
}

// downTo sends frames of the bootstrap server to an agent.
type downTo struct{ *agentLink }

// Write implements io.Writer.
func (d downTo) Write(p []byte) (int, error) {
	d.Send(link.KindDown, p)
	return len(p), nil
}

// passingMemory is the most memory in KiB that an agent may use while other agents write through it. It is
// enough for the agent itself and its queue. The windows of the streams that pass add up to 32 MiB, and the
// queue grows by doubling.
const passingMemory = 48 << 10

// TestUnreadOutputThroughAnAgent checks that an agent stores no output of the agents below it
// beyond their windows while nobody reads gorun's output.
func TestUnreadOutputThroughAnAgent(t *testing.T) {
	t.Parallel()
	const ranks, lines = 128, 4000
	const beatsMost = 4 << 10 // an agent that passes no output on still sends beats (link.KindBeat)
	// a starts b, and b starts c.
	r := command(t, []string{"GORUN_RADIX=1"}, "-host", "a,b:64,c:63", "-rsh", rsh(t), "seq", "-f", "%.0f"+loudTail, strconv.Itoa(lines))
	out := r.lines(t)
	require.NoError(t, r.Start())
	first, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "1"+loudTail+"\n", first)
	// The loop ends when the agents write little more than beats, because all buffers on the way are then
	// full or nearly full.
	for written := -1; ; {
		now := 0
		for _, pid := range agents(t, r) {
			now += bytesWritten(t, pid)
		}
		if now-written < beatsMost {
			break
		}
		written = now
		<-time.After(200 * time.Millisecond)
	}
	pids := agents(t, r)
	require.GreaterOrEqual(t, len(pids), 3)
	for _, pid := range pids {
		memory := peakMemory(t, pid)
		t.Logf("agent %s: %d KiB", hostOf(t, pid), memory)
		if !raceEnabled { // the agent needs several times the memory under the race detector
			require.Less(t, memory, passingMemory)
		}
	}
	for n := 1; n < ranks*lines; n++ {
		_, err := out.ReadSlice('\n')
		require.NoError(t, err)
	}
	require.Zero(t, r.wait(t), r.err.String())
}

// bytesWritten returns the number of bytes that a process has written.
func bytesWritten(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	require.NoError(t, err)
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		if number, ok := strings.CutPrefix(lines.Text(), "wchar: "); ok {
			n, err := strconv.Atoi(number)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatal(string(text))
	return 0
}
