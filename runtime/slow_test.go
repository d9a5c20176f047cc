package runtime_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

func init() { programs["haul"] = func() { runtime.Main(haul) } }

// haul sends HAUL_BYTES of float64 values HAUL_ROUNDS times, in both directions between the two ranks or in one. The
// values are random, or change slowly from each value to the next.
func haul(w *runtime.World) error {
	c, peer := w.Comm(), 1-w.Rank()
	bytes, err := strconv.Atoi(os.Getenv("HAUL_BYTES"))
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(os.Getenv("HAUL_ROUNDS"))
	if err != nil {
		return err
	}
	out, in := make([]float64, bytes/8), make([]float64, bytes/8)
	for i := range out {
		if out[i] = math.Round(float64(i) / 1000); os.Getenv("HAUL_DATA") == "random" {
			out[i] = rand.Float64()
		}
	}
	want := append([]float64(nil), out...)
	if os.Getenv("HAUL_DATA") == "random" {
		want = nil
	}
	if _, err := runtime.SendRecv(c, out[:1], peer, 0, in[:1], peer, 0); err != nil {
		return err
	}
	began := time.Now()
	for range rounds {
		var err error
		switch {
		case os.Getenv("HAUL_DATA") != "one way":
			_, err = runtime.SendRecv(c, out, peer, 0, in, peer, 0)
		case w.Rank() == 0:
			if err = runtime.Send(c, out, peer, 0); err == nil {
				_, err = runtime.Recv(c, in[:1], peer, 0)
			}
			copy(in, out)
		default:
			if _, err = runtime.Recv(c, in, peer, 0); err == nil {
				err = runtime.Send(c, out[:1], peer, 0)
			}
		}
		if err != nil {
			return err
		}
	}
	took := time.Since(began)
	for i := range want {
		if in[i] != want[i] {
			return fmt.Errorf("value %d is %v", i, in[i])
		}
	}
	if w.Rank() == 0 {
		fmt.Printf("%.1f MB/s\n%s\n", float64(bytes*rounds)/took.Seconds()/1e6, w.Explain(peer))
	}
	return nil
}

// hauled runs haul over the slow link and returns the rate in MB/s and the output of World.Explain.
func hauled(t *testing.T, c *nscluster.Cluster, bytes, rounds int, data, compress string) (float64, string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), testbed.Gorun(t), "-host", "h0,h1", "-rsh", c.Rsh(), "-net", c.SlowNetwork().String(),
		"-x", envProgram+"=haul", "-x", fmt.Sprintf("HAUL_BYTES=%d", bytes), "-x", fmt.Sprintf("HAUL_ROUNDS=%d", rounds), "-x", "HAUL_DATA="+data,
		"-x", "GORUN_COMPRESS="+compress, self)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	var rate float64
	_, err = fmt.Sscanf(string(out), "%f MB/s", &rate)
	require.NoError(t, err, string(out))
	return rate, strings.SplitN(string(out), "\n", 2)[1]
}

// TestSlowLinkCompresses: over a link of 40 Mbit/s, data that can be compressed is compressed
// unless GORUN_COMPRESS=0. Random data is not compressed.
func TestSlowLinkCompresses(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a slow link")
	}
	c := nscluster.Start(t, 2)
	c.Slow("h0", "h1", nscluster.Slow{Rate: 40e6, Delay: time.Millisecond})
	_, said := hauled(t, c, 1<<20, 10, "smooth", "1") // more than the socket buffers hold
	require.Regexp(t, `, \d+\.\d MiB sent compressed to \d+\.\d MiB`, said)
	_, said = hauled(t, c, 1<<20, 1, "random", "1")
	require.NotContains(t, said, "compressed")
	_, said = hauled(t, c, 1<<20, 2, "smooth", "0")
	require.NotContains(t, said, "compressed")
}

// TestLongFatLink measures the rate of 64 MiB over a link of 1 Gbit/s. The link has a round trip of 50
// ms and loses one packet in 1000. For comparison, iperf3 with one connection is measured in turn.
func TestLongFatLink(t *testing.T) {
	if !soak() {
		t.Skip("a measurement: GORUN_SOAK=1")
	}
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("needs iperf3 (apt-get install iperf3)")
	}
	c := nscluster.Start(t, 2)
	c.Slow("h0", "h1", nscluster.Slow{Rate: 1e9, Delay: 25 * time.Millisecond, Loss: 0.001})
	for range 5 {
		server := c.Command("h1", "iperf3", "-s", "-1", "--forceflush")
		said, err := server.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, server.Start())
		_, err = said.Read(make([]byte, 1)) // returns when the server listens
		require.NoError(t, err)
		go func() { _, _ = io.Copy(io.Discard, said) }()
		text, err := c.Command("h0", "iperf3", "-c", "10.78.0.2", "-n", "64M", "-J").Output()
		require.NoError(t, err, string(text))
		require.NoError(t, server.Wait())
		var peer struct {
			End struct {
				Received struct {
					Rate float64 `json:"bits_per_second"`
				} `json:"sum_received"`
			}
		}
		require.NoError(t, json.Unmarshal(text, &peer))
		ours, _ := hauled(t, c, 64<<20, 1, "one way", "0")
		t.Logf("gorun %.1f MB/s, iperf3 %.1f MB/s, ratio %.2f", ours, peer.End.Received.Rate/8e6, ours*8e6/peer.End.Received.Rate)
	}
}

// TestSlowLinks measures what compression gains on a link of 1 Gbit/s with a round trip of 20 ms.
func TestSlowLinks(t *testing.T) {
	if !soak() {
		t.Skip("a measurement: GORUN_SOAK=1")
	}
	c := nscluster.Start(t, 2)
	c.Slow("h0", "h1", nscluster.Slow{Rate: 1e9, Delay: 10 * time.Millisecond})
	for _, data := range []string{"smooth", "random"} {
		var rates [2][]float64
		for range 5 {
			for compress := range rates {
				rate, said := hauled(t, c, 8<<20, 6, data, strconv.Itoa(compress))
				t.Log(data, compress, rate, said)
				rates[compress] = append(rates[compress], rate)
			}
		}
		t.Logf("%s: as it is %v, compressed %v MB/s", data, rates[0], rates[1])
	}
}
