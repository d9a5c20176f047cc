package runtime_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["outlast"] = func() { runtime.Main(outlast) }
}

// TestHostsSpeakByNetwork: messages and buffers between all ranks of three hosts.
func TestHostsSpeakByNetwork(t *testing.T) {
	c := nscluster.Start(t, 3)
	r := launch(t, 6, "cross", "-host", "h0:2,h1:2,h2:2", "-rsh", c.Rsh())
	require.Zero(t, r.code, r.errors)
	for from := range 6 {
		for to := range 6 {
			line := fmt.Sprintf("%d to rank %d: ", from, to)
			switch {
			case from == to:
				line += "this rank itself"
			case from/2 == to/2:
				line += "shm, "
			default:
				line += "rdma by iwarp on " + c.Address(fmt.Sprint("h", from/2)).String()
			}
			require.Contains(t, r.out, line)
		}
	}
}

// TestSurvivorsOnOtherHostsGoOn is TestSurvivorsGoOn with a host for each rank.
func TestSurvivorsOnOtherHostsGoOn(t *testing.T) {
	c := nscluster.Start(t, 4)
	r := launch(t, 4, "survive", "-host", "h0,h1,h2,h3", "-rsh", c.Rsh(), "-on-failure", "continue")
	for _, rank := range []int{0, 2, 3} {
		require.Contains(t, r.out, fmt.Sprintf("rank %d survived\n", rank), r.errors)
	}
	require.Equal(t, 137, r.code, r.errors)
}

// outlast exchanges messages with numbers until the connection has been lost and made
// again. A rank that has lost it says so.
func outlast(w *runtime.World) error {
	c := w.Comm()
	peer := 1 - c.Rank()
	go func() { // the exchange waits meanwhile
		for !strings.Contains(w.Explain(peer), "not connected now") {
			<-time.After(time.Millisecond)
		}
		fmt.Fprintln(os.Stdout, "lost")
	}()
	in, out := make([]int, 40), make([]int, 40)
	for n, last := 0, false; !last; n++ {
		for i := range out {
			out[i] = n + i
		}
		if c.Rank() == 0 && n%100 == 0 && strings.HasSuffix(strings.Split(w.Explain(peer), ";")[0], " times") {
			out[0], last = -1, true
		}
		if _, err := runtime.SendRecv(c, out, peer, 0, in, peer, 0); err != nil {
			return err
		}
		for i := range in[1:] {
			if in[i+1] != n+i+1 {
				return fmt.Errorf("exchange %d brought %v", n, in)
			}
		}
		last = last || in[0] == -1
		if n == 100 && c.Rank() == 0 {
			fmt.Fprintln(os.Stdout, "going")
		}
	}
	fmt.Fprintf(os.Stdout, "rank %d has them all\n", c.Rank())
	return nil
}

// TestCutCableIsMended is item 23 of the faults: a host's cable is pulled until the connection is given up, and
// put back. The job goes on, no message is lost and none comes twice.
func TestCutCableIsMended(t *testing.T) {
	c := nscluster.Start(t, 2)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), testbed.Gorun(t), "-host", "h0,h1", "-rsh", c.Rsh(),
		"-x", envProgram+"=outlast", "-x", "GORUN_NET_TIMEOUT=300ms", self)
	var errs strings.Builder
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() {
			_ = cmd.Wait() // then nobody writes its errors any more
			require.Fail(t, "no line is "+want, errs.String())
		}
		require.Equal(t, want, lines.Text())
	}
	next("going")
	c.Cut("h1")
	next("lost")
	c.Join("h1")
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	require.NoError(t, cmd.Wait(), errs.String())
	require.Subset(t, rest, []string{"rank 0 has them all", "rank 1 has them all"})
}
