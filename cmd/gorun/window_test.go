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

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// agentLink is a test in place of a gorun that has started an agent.
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

// expect receives frames until one of a kind, and returns the bytes of those of ranks before it.
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

// What ranks say to gorun has a window: a rank that reports without end is held up on its own
// host, and signals and output pass.
func TestReportsHaveAWindow(t *testing.T) {
	a := startAgent(t)
	a.expect(t, link.KindHello)
	a.Send(link.KindPlan, link.Encode(link.Plan{
		Generations: 1, Job: "1-ab", Host: "a", Size: 1, Nodes: 1, OnFailure: "kill", Secret: make([]byte, link.SecretBytes), Dir: "/", Bind: placement.None,
		Programs: []link.Program{{Path: link.Text(self), Args: link.Texts([]string{self, helperPrefix + "report"})}}, Ranks: []link.Rank{{}},
	}))
	up, _ := a.expect(t, link.KindStarted)
	all := up
	up, _ = a.expect(t, link.KindOutput) // "ready"
	all += up
	const frameMost = 64 << 10
	for _, granted := range []int{link.WindowBytes, link.WindowBytes * 3 / 2} {
		if granted > link.WindowBytes {
			a.Send(link.KindCredit, link.Target{}.Append(nil), link.Amount(granted-link.WindowBytes))
		}
		for all < granted { // the whole window is used
			up, body := a.expect(t, link.KindUp)
			all += up + len(body)
		}
		// Each answer to a signal leaves a rank without a window time for more.
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

// passingMemory is what an agent may use at most, in KiB, while others write through it: itself
// and its queue. The windows of the streams that pass are 32 MiB, in a queue that grows by doubling.
const passingMemory = 48 << 10

// TestUnreadOutputThroughAnAgent: an agent keeps none of the output of those below it while
// nobody reads it.
func TestUnreadOutputThroughAnAgent(t *testing.T) {
	t.Parallel()
	const ranks, lines = 128, 4000
	const beatsMost = 4 << 10 // agents that pass nothing on still write their beats
	// a starts b, and b starts c.
	r := command(t, []string{"GORUN_RADIX=1"}, "-host", "a,b:64,c:63", "-rsh", rsh(t), "seq", "-f", "%.0f"+loudTail, strconv.Itoa(lines))
	out := r.lines(t)
	require.NoError(t, r.Start())
	first, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "1"+loudTail+"\n", first)
	// Until all that fits anywhere is there, or nearly.
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
		if !raceEnabled { // which multiplies memory
			require.Less(t, memory, passingMemory)
		}
	}
	for n := 1; n < ranks*lines; n++ {
		_, err := out.ReadSlice('\n')
		require.NoError(t, err)
	}
	require.Zero(t, r.wait(t), r.err.String())
}

// bytesWritten returns how much a process has written.
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
