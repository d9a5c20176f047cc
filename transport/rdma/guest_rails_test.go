package rdma_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/kernel"
)

// inGuestRails is the name of an environment variable. The variable holds the names of the two devices of a
// virtual machine between which transfers are striped. Both devices are of the same kind, because a slower
// device would get a smaller share of the bytes.
const inGuestRails = "GORUN_TEST_RDMA_RAILS"

// packets returns how many packets an rxe device has sent.
func packets(t *testing.T, device string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/class/infiniband", device, "ports/1/hw_counters/sent_pkts"))
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return n
}

// TestDeviceStripes checks that long Gets and Puts of each rank use two devices of the kernel. The counters of
// the transport and the counters of the devices must show that both devices were used. The test also
// checks every byte that was moved.
func TestDeviceStripes(t *testing.T) {
	names := strings.Split(os.Getenv(inGuestRails), ",")
	if len(names) != 2 {
		t.Skip("runs in a guest machine: see TestKernel")
	}
	ranks := newWorld(t, make([]place, 2), func(c *rdma.Config) {
		c.Rails, c.Recovery = nil, time.Second // an attempt may take too long on a busy host
		for _, name := range names {
			c.Rails = append(c.Rails, rdma.Rail{Provider: kernel.New(kernel.Config{}), Interface: name, Fabric: "roce"})
		}
	}).ranks(t)
	const (
		length     = 8<<20 + 4321
		packetMost = 4096 // payload bytes of a packet at the largest MTU
	)
	for _, k := range ranks {
		k.StripeSmall(1<<20, 1<<20)
	}
	for me, r := range ranks {
		peer := 1 - me
		source, target := numbered(uint64(3+me), length), make([]byte, length)
		from, err := ranks[peer].Expose(source, transport.AccessRead)
		require.NoError(t, err)
		into, err := ranks[peer].Expose(target, transport.AccessWrite)
		require.NoError(t, err)
		e, dst, number := r.to(peer), make([]byte, length), uint64(10+me)
		for _, operation := range []struct {
			name  string
			begin func(token uint64) error
			check func()
		}{
			{"get", func(token uint64) error { clear(dst); return e.Get(dst, from, token) }, func() { require.Equal(t, source, dst) }},
			{"put", func(token uint64) error { number += 2; return e.Put(numbered(number, length), into, token) }, func() { require.Equal(t, numbered(number, length), target) }},
		} {
			carried, _ := r.Striped(peer)
			var before [2]int
			for i, name := range names {
				before[i] = packets(t, name)
			}
			times, deadline := 0, time.Now().Add(patience)
			for enough := false; !enough; times++ {
				require.True(t, time.Now().Before(deadline), "the second device carries too little: %s", r.Explain(peer))
				token := r.token()
				require.NoError(t, drive(t, ranks, operation.name, func() error { return operation.begin(token) }))
				pump(t, ranks, operation.name, func() bool { _, ok := r.done[token]; return ok })
				require.NoError(t, r.done[token])
				operation.check()
				now, _ := r.Striped(peer)
				enough = now-carried >= length/4
			}
			for i, name := range names {
				sent := packets(t, name) - before[i]
				t.Logf("%s by rank %d, %d times: %s sent %d packets", operation.name, me, times, name, sent)
				require.Greater(t, sent, length/4/packetMost, "%s of rank %d by %s", operation.name, me, name)
			}
		}
		require.Contains(t, r.Explain(peer), ", striped with "+names[1])
		require.NoError(t, ranks[peer].Conceal(from))
		require.NoError(t, ranks[peer].Conceal(into))
	}
	closeAll(t, ranks)
}
