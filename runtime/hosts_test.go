package runtime_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["outlast"] = func() { runtime.Main(outlast) }
	programs["bear"] = func() { runtime.Main(bear) }
	programs["alien"] = func() { runtime.Main(alien) }
}

// TestHostsSpeakByNetwork: each rank on three hosts exchanges messages with all ranks, and sends a Buffer to the next
// rank. The ranks use shared memory on one host and the network between hosts. With -transport rdma they always use
// the network.
func TestHostsSpeakByNetwork(t *testing.T) {
	c := nscluster.Start(t, 3)
	for _, flags := range [][]string{nil, {"-transport", "rdma"}} {
		r := launch(t, 6, "cross", append([]string{"-host", "h0:2,h1:2,h2:2", "-rsh", c.Rsh()}, flags...)...)
		require.Zero(t, r.code, r.errors)
		for from := range 6 {
			for to := range 6 {
				line := fmt.Sprintf("%d to rank %d: ", from, to)
				switch {
				case from == to:
					line += "this rank itself"
				case from/2 == to/2 && flags == nil:
					line += "shm, "
				default:
					line += "rdma by iwarp on " + c.Address(fmt.Sprint("h", from/2)).String()
				}
				require.Contains(t, r.out, line)
			}
		}
	}
}

// TestSurvivorsOnOtherHostsGoOn runs the program of TestSurvivorsGoOn with each rank on a host of
// its own.
func TestSurvivorsOnOtherHostsGoOn(t *testing.T) {
	c := nscluster.Start(t, 4)
	r := launch(t, 4, "survive", "-host", "h0,h1,h2,h3", "-rsh", c.Rsh(), "-on-failure", "continue")
	for _, rank := range []int{0, 2, 3} {
		require.Contains(t, r.out, fmt.Sprintf("rank %d survived\n", rank), r.errors)
	}
	require.Equal(t, 137, r.code, r.errors)
}

// outlast exchanges numbered messages until the connection has been lost and made again. A rank that
// has lost the connection prints a line about it.
func outlast(w *runtime.World) error {
	c := w.Comm()
	peer := 1 - c.Rank()
	go func() { // the exchange below waits meanwhile
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

// TestCutCableIsMended tests item 23 of the faults in docs/connection-model.md: the cable of a host is
// unplugged until the ranks give the connection up, and is then plugged in. The job continues, no
// message is lost, and no message arrives twice.
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
			_ = cmd.Wait() // afterwards nothing writes to its standard error any more
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

// bear exchanges numbered messages until rank 0 reads the end of its standard input.
func bear(w *runtime.World) error {
	c := w.Comm()
	peer, ended := 1-c.Rank(), make(chan error, 1)
	if c.Rank() == 0 {
		go func() { _, err := io.Copy(io.Discard, os.Stdin); ended <- err }()
	}
	in, out := make([]int, 40), make([]int, 40)
	for n, last := 0, false; !last; n++ {
		for i := range out {
			out[i] = n + i
		}
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			out[0], last = -1, true
		default:
		}
		if _, err := runtime.SendRecv(c, out, peer, 0, in, peer, 0); err != nil {
			return err
		}
		if in[1] != n+1 || in[39] != n+39 {
			return fmt.Errorf("exchange %d brought %v", n, in)
		}
		if last = last || in[0] == -1; n == 100 && c.Rank() == 0 {
			fmt.Fprintln(os.Stdout, "going")
		}
	}
	fmt.Fprintf(os.Stdout, "rank %d has them all: %s\n", c.Rank(), w.Explain(peer))
	return nil
}

// TestLinkThatIsCutForAMoment: after a failure of the network for 2 s, no host counts as lost. gorun
// keeps its ssh connections to the hosts, and the ranks keep their connection. If the test itself was
// delayed so that the cut lasted longer and the job failed, the run proves nothing, and is repeated.
func TestLinkThatIsCutForAMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for seconds")
	}
	t.Parallel() // the test waits most of the time
	c := nscluster.StartSSH(t, 3)
	self, err := os.Executable()
	require.NoError(t, err)
	for {
		cmd := c.Command("h0", testbed.Gorun(t), "-host", "h1,h2", "-rsh", c.SSH(), "-x", envProgram+"=bear", self)
		var errs strings.Builder
		cmd.Stderr = &errs
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewReader(stdout)
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "going\n", line)
		began := time.Now()
		c.Cut("h2")
		<-time.After(2 * time.Second)
		c.Join("h2")
		failed := time.Since(began)
		_ = stdin.Close() // an error is possible, because gorun may have ended
		rest, err := io.ReadAll(lines)
		require.NoError(t, err)
		err = cmd.Wait()
		if err != nil && strings.Contains(errs.String(), "silent for") && failed > 2500*time.Millisecond {
			continue
		}
		require.NoError(t, err, errs.String())
		for rank := range 2 {
			require.Contains(t, string(rest), fmt.Sprintf("rank %d has them all: ", rank))
		}
		require.NotContains(t, string(rest), " times", "no connection was made again")
		return
	}
}

// alien makes rank 0 send to rank 1, which rank 0 cannot reach, and print the error.
func alien(w *runtime.World) error {
	c := w.Comm()
	if c.Rank() == 1 {
		_, err := runtime.Recv(c, make([]int, 1), 0, 3)
		return err
	}
	err := runtime.Send(c, []int{1}, 1, 3)
	var lost *runtime.PeerError
	fmt.Fprintln(os.Stdout, "PeerError", errors.As(err, &lost) && lost.Rank == 1, "refused", errors.Is(err, syscall.ECONNREFUSED))
	return err
}

// TestHostsWithTheSameAddress: with -net lo, the ranks of two hosts listen at the same address, 127.0.0.1, and cannot
// connect. The sender gets an error that says which option to use.
func TestHostsWithTheSameAddress(t *testing.T) {
	c := nscluster.Start(t, 2)
	r := launch(t, 2, "alien", "-host", "h0,h1", "-rsh", c.Rsh(), "-net", "lo", "-timeout", "20s")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.out, "PeerError true refused true")
	require.Regexp(t, `rank 0: at hosts_test\.go:\d+: send: rank 1 is down: no connection with host h1 within \S+: 127\.0\.0\.1:\d+ \(1 attempt\): connection refused; `+
		`this host also has that address: gorun -net INTERFACE, ADDRESS or CIDR chooses a network that all hosts are on`, r.errors)
}

// TestHostThatDropsEverything: if a host answers nothing, the send fails with an error that lists
// the attempts, and a report of the job lists the attempts while the send waits.
func TestHostThatDropsEverything(t *testing.T) {
	c := nscluster.Start(t, 2)
	c.Cut("h1")
	r := launch(t, 2, "alien", "-host", "h0,h1", "-rsh", c.Rsh(), "-net", "eth0", "-timeout", "40s", "-x", "GORUN_NET_GIVEUP=200ms")
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.out, "PeerError true refused false")
	require.Regexp(t, `rank 0: at hosts_test\.go:\d+: send: rank 1 is down: no connection with host h1 within \S+: 10\.77\.0\.2:\d+ \(\d+ attempts?\): .*; `+
		`a firewall may drop packets to the ports of ranks, or there is no route: gorun -net `, r.errors)

	r = launch(t, 2, "alien", "-host", "h0,h1", "-rsh", c.Rsh(), "-net", "eth0", "-timeout", "5s")
	require.NotZero(t, r.code)
	require.Regexp(t, `(?m)^gorun:   send, rank 1, tag 3, world, 8 bytes, .*\ngorun:   rank 1: not connected: 10\.77\.0\.2:\d+ \(\d+ attempts?\): `, r.errors)
}

// TestPublicAddressIsEncrypted: ranks that listen at public addresses encrypt their connections by
// default, and one of them reports the encryption. They do not encrypt on a private network, nor with
// -encrypt=no.
func TestPublicAddressIsEncrypted(t *testing.T) {
	const public = "203.0.113.0/24" // RFC 5737 section 3
	c := nscluster.Start(t, 2)
	for i, name := range c.Hosts() {
		c.Add(name, netip.MustParsePrefix(fmt.Sprintf("203.0.113.%d/24", i+1)))
	}
	for _, test := range []struct {
		flags   []string
		encrypt bool
	}{
		{[]string{"-net", public}, true},
		{[]string{"-net", public, "-encrypt=no"}, false},
		{[]string{"-net", c.Network().String()}, false},
	} {
		r := launch(t, 2, "cross", append([]string{"-host", "h0,h1", "-rsh", c.Rsh()}, test.flags...)...)
		require.Zero(t, r.code, r.errors)
		require.Equal(t, test.encrypt, strings.Contains(r.out, "encrypted by TLS 1.3"), "%v: %s", test.flags, r.out)
		said := strings.Count(r.errors, "rank 0: connections over TCP are encrypted, because the address 203.0.113.1 of rank 0 on h0 is public; gorun -encrypt=no leaves them unencrypted\n")
		require.Equal(t, test.encrypt, said == 1, r.errors)
		require.Equal(t, test.encrypt, strings.Contains(r.errors, "encrypted"), r.errors)
	}
}
