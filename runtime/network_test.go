package runtime_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// crossNodes exchanges messages of all sizes between all ranks, and prints the path to each rank.
func crossNodes(w *runtime.World) error {
	c := w.Comm()
	for step := 1; step < c.Size(); step++ {
		to, from := (c.Rank()+step)%c.Size(), (c.Rank()+c.Size()-step)%c.Size()
		for _, n := range sizes {
			in := make([]byte, n)
			if _, err := runtime.SendRecv(c, pattern(make([]byte, n), c.Rank()), to, step, in, from, step); err != nil {
				return err
			}
			if !bytes.Equal(in, pattern(make([]byte, n), from)) {
				return fmt.Errorf("%d bytes of rank %d are not those sent", n, from)
			}
		}
	}
	if err := crossBuffers(c); err != nil {
		return err
	}
	for peer := range c.Size() {
		fmt.Fprintf(os.Stdout, "%d to %s\n", c.Rank(), w.Explain(peer))
	}
	return nil
}

// crossBuffers sends a Buffer to the next rank. The Buffer is handed over within a node and copied
// between nodes. Every rank sends before it receives, so that a send that waited for its receiver would
// deadlock.
func crossBuffers(c *runtime.Comm) error {
	const length = 5 << 20
	b, err := runtime.Alloc[byte](c.World(), length)
	if err != nil {
		return err
	}
	pattern(runtime.View[byte](b), c.Rank())
	if err := runtime.SendBuffer[byte](c, b, (c.Rank()+1)%c.Size(), 1); err != nil {
		return err
	}
	from := (c.Rank() + c.Size() - 1) % c.Size()
	m, err := runtime.RecvMessage(c, from, 1)
	if err != nil {
		return err
	}
	defer m.Close()
	if !bytes.Equal(runtime.View[byte](m.Buffer()), pattern(make([]byte, length), from)) {
		return fmt.Errorf("the buffer of rank %d is not what was sent", from)
	}
	return nil
}

// With GORUN_DEBUG=1, the memory of a Buffer that is sent to another node stays readable until the network
// has sent it.
func TestDebugReadsABufferUntilItIsSent(t *testing.T) {
	r := launch(t, 2, "cross", "-transport", "rdma", "-x", "GORUN_DEBUG=1")
	require.Zero(t, r.code, r.errors)
}

// In a job on two nodes, ranks use shared memory within a node and the network between nodes, and
// Explain says so.
func TestNodesSpeakByNetwork(t *testing.T) {
	r := launch(t, 6, "cross", append(testbed.TwoNodes(t), "-net", "lo")...)
	require.Zero(t, r.code, r.errors)
	for from, node := range []int{0, 0, 1, 1, 0, 0} {
		for to, other := range []int{0, 0, 1, 1, 0, 0} {
			line := fmt.Sprintf("%d to rank %d: ", from, to)
			switch {
			case from == to:
				line += "this rank itself"
			case node == other:
				line += "shm, lane"
			default:
				line += "rdma by iwarp on 127.0.0.1"
			}
			require.Contains(t, r.out, line)
		}
	}
	require.Regexp(t, `0 to rank 2: .* 127\.0\.0\.1:\d+ -> 127\.0\.0\.1:\d+, IRD 16, ORD 16, credits \d+ out and \d+ in of \d+ B, CRC on, .*; `+
		`not shm: the ranks are on different nodes \(h1, h2\)`, r.out)
}

// With -transport rdma the ranks of one node use the network, without a CRC unless GORUN_CRC=1 asks for it.
func TestNetworkOfOneNode(t *testing.T) {
	for variable, crc := range map[string]string{"": "off", "0": "off", "1": "on"} {
		r := launch(t, 3, "cross", "-transport", "rdma", "-x", "GORUN_CRC="+variable)
		require.Zero(t, r.code, r.errors)
		require.Regexp(t, `2 to rank 0: rdma by iwarp on 127\.0\.0\.1 .*, CRC `+crc+`, .*; not shm: GORUN_TRANSPORT=rdma`, r.out)
	}
}

// GORUN_CRC=0 switches the CRC off between nodes, too.
func TestNodesWithoutCRC(t *testing.T) {
	r := launch(t, 6, "cross", append(testbed.TwoNodes(t), "-net", "lo", "-x", "GORUN_CRC=0")...)
	require.Zero(t, r.code, r.errors)
	require.Regexp(t, `0 to rank 2: rdma by iwarp on 127\.0\.0\.1 .*, CRC off, `, r.out)
}

// TestEncryptedNetwork: -encrypt=yes encrypts the connections of the ranks. With the default,
// connections between private addresses are not encrypted.
func TestEncryptedNetwork(t *testing.T) {
	for _, encrypt := range []string{"yes", "auto"} {
		r := launch(t, 2, "cross", "-transport", "rdma", "-encrypt="+encrypt)
		require.Zero(t, r.code, r.errors)
		require.Regexp(t, `1 to rank 0: rdma by iwarp on 127\.0\.0\.1 `, r.out)
		require.Equal(t, encrypt == "yes", strings.Contains(r.out, "encrypted by TLS 1.3"), r.out)
	}
}

// In a program without actors of its own, -explain lists the actors with which transport/rdma
// manages the connections.
func TestExplainedConnectionActors(t *testing.T) {
	r := launch(t, 2, "circle", "-transport", "rdma", "-explain")
	require.Zero(t, r.code, r.errors)
	for rank := range 2 {
		require.Regexp(t, fmt.Sprintf(`(?m)^actors of rank %d:\n  \$rdma +supervisor of connections, runs\n    rank%d +connection, connected\n`, rank, 1-rank), r.errors)
	}
}

// -net with an interface that does not exist ends the job with an error that names the interface.
func TestNetworkThatIsNotThere(t *testing.T) {
	r := launch(t, 2, "cross", "-transport", "rdma", "-net", "nosuch0")
	require.NotZero(t, r.code)
	require.Contains(t, r.errors, `-net nosuch0: there is no interface "nosuch0"`)
}

// rests makes rank 0 send again after its idle connection was closed.
func rests(w *runtime.World) error {
	c := w.Comm()
	word := make([]int, 1)
	if c.Rank() == 1 {
		for tag := range 2 {
			if _, err := runtime.Recv(c, word, 0, tag); err != nil {
				return err
			}
		}
		return runtime.Send(c, word, 0, 2)
	}
	if err := runtime.Send(c, word, 1, 0); err != nil {
		return err
	}
	answer := runtime.Irecv(c, word, 1, 2)
	for !strings.Contains(w.Explain(1), "not connected now") {
		if _, _, err := answer.Test(); err != nil { // polls the transport
			return err
		}
	}
	if err := runtime.Send(c, word, 1, 1); err != nil {
		return err
	}
	if _, err := answer.Wait(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, w.Explain(1))
	return nil
}

// TestIdleConnectionsOfAJob: GORUN_NET_IDLE closes idle connections, and the next message opens a
// new one.
func TestIdleConnectionsOfAJob(t *testing.T) {
	r := launch(t, 2, "rests", "-transport", "rdma", "-x", "GORUN_NET_IDLE=5ms")
	require.Zero(t, r.code, r.errors)
	require.Regexp(t, `connected \d+ times`, r.out)
	r = launch(t, 2, "rests", "-transport", "rdma", "-x", "GORUN_NET_IDLE=soon")
	require.NotZero(t, r.code)
	require.Contains(t, r.errors, `bad GORUN_NET_IDLE: "soon" is not a duration such as 50us`)
}

func init() {
	programs["rests"] = func() { runtime.Main(rests) }
	programs["scanned"] = func() { runtime.Main(scanned) }
}

// scanned makes rank 0 act as a port scanner at the port of rank 1, between two messages.
func scanned(w *runtime.World) error {
	c := w.Comm()
	if c.Rank() == 1 {
		for tag := range 2 {
			if _, err := runtime.Recv(c, make([]int, 1), 0, tag); err != nil {
				return err
			}
		}
		return nil
	}
	if err := runtime.Send(c, []int{1}, 1, 0); err != nil {
		return err
	}
	at := regexp.MustCompile(`-> (127\.0\.0\.1:\d+)`).FindStringSubmatch(w.Explain(1))
	if at == nil {
		return fmt.Errorf("no address in %q", w.Explain(1))
	}
	for range 3 {
		conn, err := net.Dial("tcp", at[1])
		if err != nil {
			return err
		}
		// The write may fail, because the peer may drop the connection meanwhile.
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: gorun\r\n\r\n")
		if n, _ := io.Copy(io.Discard, conn); n != 0 {
			return fmt.Errorf("%d bytes were answered", n)
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
	return runtime.Send(c, []int{1}, 1, 1)
}

// TestStrangersAtThePortOfARank: the job continues in spite of foreign connections. If several
// connections are dropped for the same reason, only one of them is logged.
func TestStrangersAtThePortOfARank(t *testing.T) {
	r := launch(t, 2, "scanned", "-transport", "rdma")
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 1, strings.Count(r.errors, "further ones are only counted"), r.errors)
	require.Regexp(t, `rank 1: iwarp: a connection from 127\.0\.0\.1:\d+ was dropped: `, r.errors)
}
