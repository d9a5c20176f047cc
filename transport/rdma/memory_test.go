package rdma_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	goruntime "runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// caller is a scripted peer that takes almost no memory of this process, because it holds only a file
// descriptor. It builds a frame when it sends the frame. It only counts the bytes that it receives.
type caller struct {
	fd, heard int
	// last is the buffer that hear has filled last.
	last []byte
	// segments is the number of Sends that the caller has sent, without the RTR (ready-to-receive frame of
	// MPA).
	segments uint32
}

// call connects to a rank and sends an MPA request, like a peer that uses this module. The argument private is
// the private data of the request. The test closes the descriptor.
func call(tb testing.TB, to netip.AddrPort, private []byte) *caller {
	tb.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	require.NoError(tb, err)
	require.NoError(tb, unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}))
	require.NoError(tb, unix.SetNonblock(fd, true))
	c := &caller{fd: fd}
	frame := startup(requestKey, private)
	frame[16] |= 1 // flag: the peer uses this module
	c.write(tb, frame)
	return c
}

func (c *caller) write(tb testing.TB, b []byte) {
	tb.Helper()
	n, err := unix.Write(c.fd, b)
	require.NoError(tb, err)
	require.Len(tb, b, n)
}

// fpdu returns the FPDU that carries a ULPDU.
func fpdu(ulpdu ...byte) []byte {
	b := append(binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu))), ulpdu...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// rtr sends the empty RDMA Write that ends the startup.
func (c *caller) rtr(tb testing.TB) {
	tb.Helper()
	c.write(tb, fpdu(append([]byte{0xC1, 0x40}, make([]byte, 12)...)...))
}

// say sends a message with a Send.
func (c *caller) say(tb testing.TB, message []byte) {
	tb.Helper()
	c.segments++
	b := binary.BigEndian.AppendUint32([]byte{0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0}, c.segments)
	c.write(tb, fpdu(append(append(b, 0, 0, 0, 0), message...)...))
}

// hear reads the bytes that have arrived and returns how many have arrived in total.
func (c *caller) hear(tb testing.TB) int {
	tb.Helper()
	var b [1024]byte
	n, err := unix.Read(c.fd, b[:])
	switch {
	case errors.Is(err, unix.EAGAIN):
		return c.heard
	case err != nil || n == 0:
		require.Fail(tb, "the connection ended", "%v", err)
	}
	c.heard += n
	c.last = b[:n]
	return c.heard
}

// await polls the rank until done returns true.
func await(r *rank, what string, done func() bool) {
	r.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if r.poll() == 0 {
			require.False(r, time.Now().After(deadline), "still waiting: %s", what)
			r.sleeper.Yield()
		}
	}
}

// TestMemoryOfConnections connects up to 1000 peers to one rank over TCP. The test checks that the rank uses at
// most 65 MiB for receives, and at most 4 MiB of other memory in total plus 16 KiB for each connection. The
// peers take almost no memory of this process (type caller).
func TestMemoryOfConnections(t *testing.T) {
	for _, peers := range []int{2, 64, 1000} {
		t.Run(strconv.Itoa(peers), func(t *testing.T) { testMemory(t, peers) })
	}
}

func testMemory(t *testing.T, peers int) {
	t.Helper()
	// fixed bounds the bytes that the first connection allocates and that later connections share.
	const budget, each, fixed = 64 << 20, 16 << 10, 4 << 20
	var files unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	if files.Cur < uint64(2*peers+100) {
		t.Skipf("%d files may be open: %v", files.Cur, transport.ErrNotSupported)
	}
	w := newWorld(t, loopback(iwarp.New(iwarp.Config{}), 1), func(c *rdma.Config) { c.Size = peers + 1 })
	r := w.ranks(t)[0]
	r.next = make([]uint64, peers+1)
	r.check = func(int, transport.Header, []byte) {}
	callers := make([]*caller, 0, peers)
	t.Cleanup(func() {
		for _, c := range callers {
			require.NoError(t, unix.Close(c.fd))
		}
	})
	before, goroutines := heap(), goruntime.NumGoroutine()

	const reply = 20 + 4 + 56
	for i := range peers {
		k, n := credentials(i+1, peers+1), request(1)
		asked := k.AppendRequest(nil, &n, 0)
		c := call(t, r.Address(), asked)
		callers = append(callers, c)
		await(r, "an answer", func() bool { return c.hear(t) >= reply })
		require.Equal(t, reply, c.heard, "accepted")
		c.rtr(t)
		c.say(t, prove(frame(word(0, 0, 8, 0), kindUpdate), asked, c.last[24:]))
		c.last = nil
		c.say(t, frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))
	}
	await(r, "a message of each", func() bool { return r.arrivals == peers })
	await(r, "all is said", func() bool { return r.poll() == 0 })
	for i, c := range callers {
		// A message to every peer makes each connection allocate the memory that it needs for sending.
		heard := c.hear(t)
		require.NoError(t, r.to(i+1).Send(transport.Header{}, []byte("answer")))
		await(r, "an answer to a message", func() bool { return c.hear(t) > heard })
	}
	taken := heap() - before
	receives := r.ReceiveBytes()
	t.Logf("%d KiB in all, of them %d KiB receives: %d bytes beyond per connection", taken>>10, receives>>10, (taken-receives)/peers)
	require.LessOrEqual(t, receives, budget+budget/64, "chunks are whole")
	require.LessOrEqual(t, taken, receives+fixed+peers*each)
	require.Less(t, goruntime.NumGoroutine(), goroutines+8+peers/10, "stacks are no part of the heap")
	require.Empty(t, r.downs)
	require.NoError(t, r.Close())
	goruntime.KeepAlive(w)
}

// heap collects garbage and returns the number of heap bytes in use.
func heap() int {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
