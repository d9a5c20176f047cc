package ibverbs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// fakeDevice is the kernel's description of the fake library's device.
var fakeDevice = uverbs.Device{Name: "fake0", File: "dev/infiniband/uverbs7"}

// compile makes a library of testdata/fake.c.
func compile(t *testing.T, flags ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc)")
	}
	file := filepath.Join(t.TempDir(), "libfake.so")
	out, err := exec.CommandContext(t.Context(), compiler, append(flags, "-shared", "-fPIC", "-Wall", "-Werror", "-o", file, "testdata/fake.c")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// fake opens the fake library.
func fake(t *testing.T) *library {
	t.Helper()
	l, err := load(compile(t))
	if errors.Is(err, ErrNotLinked) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return l
}

// fakes are objects of the fake library.
type fakes struct {
	*Context
	domain  *ProtectionDomain
	channel *Channel
	queue   *CompletionQueue
}

func newFakes(t *testing.T) *fakes {
	t.Helper()
	c, err := fake(t).open(&fakeDevice)
	require.NoError(t, err)
	f := &fakes{Context: c}
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	f.domain, err = c.NewProtectionDomain()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.domain.Close()) })
	f.channel, err = c.NewChannel()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.channel.Close()) })
	f.queue, err = c.NewCompletionQueue(64, f.channel)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.queue.Close()) })
	return f
}

func (f *fakes) pair(t *testing.T, shared *SharedReceiveQueue, sends int) *QueuePair {
	t.Helper()
	q, err := f.NewQueuePair(&QueuePairConfig{
		Domain: f.domain, Sends: f.queue, Receives: f.queue, Shared: shared, User: 5,
		Capacity: uverbs.Capacity{Sends: sends, Receives: 40, SendSegments: 3, ReceiveSegments: 3, Inline: 64},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	return q
}

// TestWhatIsMissing checks the error message for each component that may be missing. The message must say what
// was found, what is needed, and what the user can do.
func TestWhatIsMissing(t *testing.T) {
	l := fake(t)
	open := func() error {
		_, err := l.open(&fakeDevice)
		return err
	}
	c, err := l.open(&fakeDevice)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	domain, err := c.NewProtectionDomain()
	require.NoError(t, err)
	defer func() { require.NoError(t, domain.Close()) }()
	queue, err := c.NewCompletionQueue(8, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, queue.Close()) }()
	pair, err := c.NewQueuePair(&QueuePairConfig{Domain: domain, Sends: queue, Receives: queue})
	require.NoError(t, err)
	defer func() { require.NoError(t, pair.Close()) }()
	state, err := pair.QueryState()
	require.NoError(t, err)
	require.Equal(t, uverbs.StateSend, state)
	for _, test := range []struct {
		name, variable string
		do             func() error
		want           []string
		is             error
	}{
		{"library", "", func() error { _, err := load("libabsent.so.1"); return err }, []string{"libabsent.so.1 cannot be loaded", "No such file", "libibverbs1", "ibverbs-providers"}, nil},
		{"version", "", func() error { _, err := load(compile(t, "-DNO_IOVA2")); return err }, []string{"no function ibv_reg_mr_iova2", "rdma-core 28"}, nil},
		{"no RDMA library", "", func() error { _, err := load("libc.so.6"); return err }, []string{"libc.so.6 has no function ibv_ack_async_event"}, nil},
		{"module", "FAKE_MODULE", open, []string{"device fake0", "modprobe ib_uverbs"}, unix.ENOSYS},
		{"no device", "FAKE_NONE", open, []string{"it has found no device", "provider", "ibverbs-providers"}, nil},
		{"other device", "", func() error { _, err := l.open(&uverbs.Device{Name: "mlx5_0"}); return err }, []string{"device mlx5_0", "it has found fake0", "ibverbs-providers"}, nil},
		{"permission", "FAKE_OPEN", open, []string{"/dev/infiniband/uverbs7", "permission denied", "udev"}, unix.EACCES},
		{"functions", "FAKE_OPS", open, []string{"without functions"}, uverbs.ErrAnswer},
		{"memory", "FAKE_MEMORY", func() error { _, err := domain.Register(make([]byte, 1<<20), uverbs.AccessLocalWrite); return err }, []string{"register memory, device fake0"}, unix.ENOMEM},
		{"state", "FAKE_QUERY", func() error { _, err := pair.QueryState(); return err }, []string{"query queue pair, device fake0"}, unix.EIO},
		{"attributes", "FAKE_QUERY", func() error { _, err := c.Attributes(); return err }, []string{"query device"}, unix.EIO},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.variable != "" {
				t.Setenv(test.variable, "1")
			}
			err := test.do()
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

// TestVersion checks that the version is taken from the file of the loaded library.
func TestVersion(t *testing.T) {
	const maps = "55d0-55d1 r--p 00000000 08:01 77 /usr/bin/prog\n7f10-7f11 rw-p 00000000 00:00 0\n" +
		"7f20-7f21 r--p 00000000 08:01 78                         /usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0\n"
	require.Equal(t, "libibverbs.so.1.14.44.0", versionOf(maps))
	require.Equal(t, "libibverbs.so.1", versionOf("7f10-7f11 rw-p 00000000 00:00 0\n"))
	if Available() == nil {
		require.Contains(t, Version(), "libibverbs.so.1.")
	}
}

// TestMemlock checks that an error names the limit of locked memory when this limit is the likely cause. It
// checks a registration of memory and the creation of a queue pair.
func TestMemlock(t *testing.T) {
	f := newFakes(t)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old))
	low := unix.Rlimit{Cur: 4096, Max: old.Max}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &low))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &old)) }()
	t.Setenv("FAKE_MEMORY", "1")
	var locked *uverbs.MemlockError
	_, err := f.domain.Register(make([]byte, 1<<20), uverbs.AccessLocalWrite)
	require.ErrorAs(t, err, &locked)
	require.EqualValues(t, 4096, locked.Limit)
	require.GreaterOrEqual(t, locked.Need, uint64(1<<20))
	_, err = f.NewQueuePair(&QueuePairConfig{Domain: f.domain, Sends: f.queue, Receives: f.queue, Capacity: uverbs.Capacity{Sends: 1000}})
	require.ErrorAs(t, err, &locked)
	require.ErrorContains(t, err, "ulimit -l")
}

// TestQueries checks the attributes of the device, of a port and of regions.
func TestQueries(t *testing.T) {
	f := newFakes(t)
	a, err := f.Attributes()
	require.NoError(t, err)
	require.Equal(t, uverbs.Attributes{
		MaxWork: 200, MaxSegments: 30, MaxReadSegments: 29, MaxCompletions: 1000, MaxReadsIn: 16, MaxReadsOut: 17,
		MaxSharedQueues: 21, MaxSharedWork: 22, Atomics: true,
	}, a)
	p, err := f.Port(1)
	require.NoError(t, err)
	require.Equal(t, uverbs.PortAttributes{MaxMessage: 1 << 30}, p)
	_, err = f.Port(2)
	require.ErrorIs(t, err, unix.EINVAL)

	b := make([]byte, 4096)
	access := uverbs.AccessLocalWrite | uverbs.AccessRelaxedOrdering
	require.False(t, f.OnDemand())
	_, err = f.domain.Register(b, access|uverbs.AccessOnDemand)
	require.ErrorIs(t, err, unix.EOPNOTSUPP)
	r, err := f.domain.Register(b, access)
	require.NoError(t, err)
	require.EqualValues(t, access, r.RKey)
	require.EqualValues(t, 0x100, r.LKey)
	require.EqualValues(t, addressOfBytes(b), r.Address)
	t.Setenv("FAKE_DEREG", "1")
	require.ErrorIs(t, r.Close(), unix.EBUSY)
	require.NoError(t, os.Unsetenv("FAKE_DEREG"))
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Close(), uverbs.ErrClosed)
	t.Setenv("FAKE_ODP", "1")
	r, err = f.domain.Register(b, access|uverbs.AccessOnDemand)
	require.NoError(t, err)
	require.EqualValues(t, access|uverbs.AccessOnDemand, r.RKey)
	require.NoError(t, r.Close())
	_, err = f.domain.Register(nil, access)
	require.ErrorIs(t, err, unix.EINVAL)
	t.Setenv("FAKE_GONE", "1")
	r, err = f.domain.Register(b, access)
	require.NoError(t, err)
	require.NoError(t, r.Close(), "of a device that was removed")
	require.NotContains(t, os.Environ(), "RDMAV_ALLOW_DISASSOC_DESTROY=1", "the variable is not passed to child processes")
}

// TestAnswers checks that the package detects wrong values from the library, and that a failure leaves no
// object open.
func TestAnswers(t *testing.T) {
	f := newFakes(t)
	t.Setenv("FAKE_SMALL", "1")
	_, err := f.NewCompletionQueue(8, nil)
	require.ErrorIs(t, err, uverbs.ErrAnswer)
	t.Setenv("FAKE_SMALL_PAIR", "1")
	_, err = f.NewQueuePair(&QueuePairConfig{Domain: f.domain, Sends: f.queue, Receives: f.queue, Capacity: uverbs.Capacity{Sends: 1, Inline: 8}})
	require.ErrorIs(t, err, uverbs.ErrAnswer)
	require.EqualValues(t, 3, f.made.Load(), "domain, channel and queue")
	_, err = f.NewCompletionQueue(0, nil)
	require.ErrorIs(t, err, unix.EINVAL)
	require.ErrorIs(t, f.Close(), unix.EBUSY)
	require.ErrorIs(t, f.channel.Close(), unix.EBUSY)
}

// TestClosed checks that closed objects are never passed to the library.
func TestClosed(t *testing.T) {
	c, err := fake(t).open(&fakeDevice)
	require.NoError(t, err)
	d, err := c.NewProtectionDomain()
	require.NoError(t, err)
	ch, err := c.NewChannel()
	require.NoError(t, err)
	cq, err := c.NewCompletionQueue(8, ch)
	require.NoError(t, err)
	s, err := d.NewSharedReceiveQueue(4, 1)
	require.NoError(t, err)
	config := &QueuePairConfig{Domain: d, Sends: cq, Receives: cq, Capacity: uverbs.Capacity{Sends: 4, Receives: 4}}
	q, err := c.NewQueuePair(config)
	require.NoError(t, err)
	for _, x := range []interface{ Close() error }{q, s, cq, ch, d, c} {
		require.NoError(t, x.Close())
		require.ErrorIs(t, x.Close(), uverbs.ErrClosed)
	}
	failed := func(_ any, err error) { t.Helper(); require.ErrorIs(t, err, uverbs.ErrClosed) }
	failed(q.PostSends(make([]uverbs.SendRequest, 1)))
	failed(q.PostReceives(make([]uverbs.ReceiveRequest, 1)))
	failed(s.PostReceives(make([]uverbs.ReceiveRequest, 1)))
	failed(c.Attributes())
	failed(c.Port(1))
	failed(c.NewProtectionDomain())
	failed(c.NewQueuePair(config))
	failed(c.NewCompletionQueue(1, ch))
	failed(d.Register(make([]byte, 1), 0))
	failed(d.NewSharedReceiveQueue(1, 1))
	failed(nil, q.SetState(uverbs.StateError))
	failed(q.QueryState())
	failed(nil, cq.Arm())
	_, err = ch.Next()
	failed(nil, err)
	_, _, err = c.NextEvent()
	failed(nil, err)
	require.Zero(t, cq.Poll(make([]uverbs.Completion, 1)))
}
