package shm_test

import (
	"encoding/binary"
	"errors"
	"os"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// arrival is a message as it arrived.
type arrival struct {
	peer    int
	header  transport.Header
	payload []byte
}

// completion has the arguments of one call of Completed.
type completion struct {
	token, value uint64
	err          error
}

// log is a Handler that records its calls.
type log struct {
	arrivals []arrival
	done     []completion
	downs    []*transport.PeerDown
}

func (l *log) Arrive(peer int, h transport.Header, payload []byte) {
	l.arrivals = append(l.arrivals, arrival{peer, h, append([]byte(nil), payload...)})
}

func (l *log) Completed(_ int, token, value uint64, err error) {
	l.done = append(l.done, completion{token, value, err})
}

func (l *log) Down(d *transport.PeerDown) { l.downs = append(l.downs, d) }

// local makes n transports of this process on a local node.
func local(tb testing.TB, n int, disableCMA bool) []*shm.Transport {
	tb.Helper()
	node, err := shm.NewLocalNode(n)
	require.NoError(tb, err)
	ts := make([]*shm.Transport, n)
	for i := range ts {
		ts[i], err = shm.New(node, shm.Config{Rank: i, LocalRank: i, DisableCMA: disableCMA})
		require.NoError(tb, err)
	}
	return ts
}

func endpointTo(tb testing.TB, tr *shm.Transport, peer int) transport.Endpoint {
	tb.Helper()
	e, err := tr.Endpoint(peer)
	require.NoError(tb, err)
	return e
}

// needsAlone skips a test that needs process_vm_readv if the system forbids it, as a container may.
func needsAlone(tb testing.TB) {
	tb.Helper()
	if _, err := unix.ProcessVMReadv(os.Getpid(), nil, nil, 0); err != nil {
		tb.Skipf("process_vm_readv: %v", err)
	}
}

// pattern returns n pseudo-random bytes that depend on the seed.
func pattern(n int, seed uint64) []byte {
	b := make([]byte, n+8)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := 0; i < n; i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(b[i:], x)
	}
	return b[:n]
}

// sendAll sends a message; while the lane is full it polls and yields.
func sendAll(tr *shm.Transport, l transport.Handler, e transport.Endpoint, h transport.Header, payload []byte) error {
	for {
		err := e.Send(h, payload)
		if !errors.Is(err, transport.ErrAgain) {
			return err
		}
		if _, err := tr.Poll(l, 16); err != nil {
			return err
		}
		goruntime.Gosched()
	}
}

// rangeBytes is the size of the ranges of node memory in tests.
const rangeBytes = 64 << 20

// memory makes node memory for n ranks and returns its descriptor, which the caller closes.
func memory(tb testing.TB, n int) int {
	tb.Helper()
	fd, err := unix.MemfdCreate("gorun-test", unix.MFD_CLOEXEC)
	require.NoError(tb, err)
	require.NoError(tb, unix.Ftruncate(fd, int64(n)*rangeBytes))
	return fd
}
