package uverbs

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestTruncatedAnswers shortens the kernel's answers to every smaller length. A kernel does not report how many
// bytes of an answer it has written. So the package must detect that a shortened answer is wrong, or the answer
// must describe an object that works. If the answer is wrong, the package must destroy the object and unmap its
// memory.
func TestTruncatedAnswers(t *testing.T) {
	create := map[uint32]func(c *Context, d *ProtectionDomain, cq *CompletionQueue) (closer, int, error){
		cmdCreateCQ: func(c *Context, _ *ProtectionDomain, _ *CompletionQueue) (closer, int, error) {
			q, err := c.NewCompletionQueue(3, nil)
			if err != nil {
				return nil, 0, err
			}
			return q, q.Capacity(), nil
		},
		cmdCreateQP: func(c *Context, d *ProtectionDomain, cq *CompletionQueue) (closer, int, error) {
			q, err := c.NewQueuePair(&QueuePairConfig{
				Domain: d, Sends: cq, Receives: cq, Capacity: Capacity{Sends: 3, Receives: 3, SendSegments: 2, ReceiveSegments: 2, Inline: 64},
			})
			if err != nil {
				return nil, 0, err
			}
			require.Equal(t, 2, q.Granted.SendSegments)
			require.Equal(t, 64, q.Granted.Inline)
			return q, min(q.Granted.Sends, q.Granted.Receives), nil
		},
		cmdCreateSRQ: func(_ *Context, d *ProtectionDomain, _ *CompletionQueue) (closer, int, error) {
			s, err := d.NewSharedReceiveQueue(3, 2)
			if err != nil {
				return nil, 0, err
			}
			return s, s.queue.capacity(), nil
		},
	}
	for command, make := range create {
		eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
			t.Helper()
			d, err := c.NewProtectionDomain()
			require.NoError(t, err)
			cq, err := c.NewCompletionQueue(3, nil)
			require.NoError(t, err)
			objects, mapped, wrong := k.objects, k.mapped, 0
			for cut := range len(k.answers[command]) + 1 {
				k.cut[command] = cut
				o, capacity, err := make(c, d, cq)
				if err != nil {
					wrong++
					require.True(t, isRefusal(err), "%d bytes: %v", cut, err)
				} else {
					require.GreaterOrEqual(t, capacity, 3)
					require.NoError(t, o.Close())
				}
				require.Equal(t, objects, k.objects, "%d bytes", cut)
				require.Equal(t, mapped, k.mapped, "%d bytes", cut)
				if cut == len(k.answers[command]) {
					require.NoError(t, err)
				}
			}
			require.Greater(t, wrong, 8)
		})
	}
}

type closer interface{ Close() error }

// isRefusal reports whether an error is an Error that names the fake device and an operation.
func isRefusal(err error) bool {
	var e *Error
	return asError(err, &e) && (e.Device == "fake0" && e.Op != "")
}

// TestHeadersThatAreWrong checks that the package detects wrong values in the header of a queue of rxe.
func TestHeadersThatAreWrong(t *testing.T) {
	for name, breakIt := range map[string]func(*rxeIndices){
		"mask":            func(i *rxeIndices) { i.mask = 2 },
		"mask too large":  func(i *rxeIndices) { i.mask = 7 },
		"mask of all":     func(i *rxeIndices) { i.mask = 1<<32 - 1 },
		"elements":        func(i *rxeIndices) { i.log2Size = 5 },
		"huge elements":   func(i *rxeIndices) { i.log2Size = 40 },
		"larger elements": func(i *rxeIndices) { i.log2Size = 9 },
	} {
		c, k := fakeDevice(rxe{})
		breakIt(at[rxeIndices](k.queues[cqOffset], 0))
		_, err := c.NewCompletionQueue(3, nil)
		require.ErrorIs(t, err, ErrAnswer, name)
		require.Zero(t, k.mapped)
		require.Zero(t, k.objects)
	}
}

// TestLimitOfACgroup checks that an error says that a limit is reached if the kernel refuses an object because of the
// RDMA controller of the process's cgroup.
func TestLimitOfACgroup(t *testing.T) {
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		k.refused[cmdAllocPD] = unix.EAGAIN
		_, err := c.NewProtectionDomain()
		require.ErrorIs(t, err, unix.EAGAIN)
		require.EqualError(t, err, "uverbs: allocate protection domain, device fake0: resource temporarily unavailable: "+
			"a limit of the cgroup (rdma.max) or of the device is reached")
	})
}

// TestSmallerQueues checks that the package returns an error if a device makes a smaller queue than requested.
func TestSmallerQueues(t *testing.T) {
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		cq, q := fakePair(t, c)
		require.NoError(t, q.Close())
		d, err := c.NewProtectionDomain()
		require.NoError(t, err)
		fits := Capacity{Sends: 3, Receives: 3, SendSegments: 2, ReceiveSegments: 2, Inline: 64}
		for _, more := range []func(*Capacity){
			func(c *Capacity) { c.Sends = 5 }, func(c *Capacity) { c.Receives = 5 }, func(c *Capacity) { c.SendSegments = 3 },
			func(c *Capacity) { c.ReceiveSegments = 3 }, func(c *Capacity) { c.Inline = 65 },
		} {
			want := fits
			more(&want)
			_, err := c.NewQueuePair(&QueuePairConfig{Domain: d, Sends: cq, Receives: cq, Capacity: want})
			require.ErrorIs(t, err, ErrAnswer)
			require.Equal(t, 1, k.objects)
		}
		_, err = c.NewCompletionQueue(5, nil)
		require.ErrorIs(t, err, ErrAnswer)
		_, err = d.NewSharedReceiveQueue(5, 2)
		require.ErrorIs(t, err, ErrAnswer)
	})
}

// TestRegister checks the access flags of a registration, the part of the key that the user chooses, and the
// retries after an error.
func TestRegister(t *testing.T) {
	c, k := fakeDevice(siw{})
	d, err := c.NewProtectionDomain()
	require.NoError(t, err)
	memory := make([]byte, 100)
	r, err := d.Register(memory, AccessLocalWrite|AccessRelaxedOrdering)
	require.NoError(t, err)
	require.EqualValues(t, 0x1100, r.LKey)
	require.Equal(t, addressOf(memory), r.Address)
	q := at[regionRequest](k.seen[len(k.seen)-1], 0)
	require.EqualValues(t, 9, q.domain)
	require.EqualValues(t, 100, q.length)
	require.Equal(t, q.start, q.iova)
	require.EqualValues(t, AccessLocalWrite|AccessRelaxedOrdering, q.access)
	first := k.seen[len(k.seen)-1][sizeOf[regionRequest]()]
	_, err = d.Register(memory, AccessLocalWrite)
	require.NoError(t, err)
	require.NotEqual(t, first, k.seen[len(k.seen)-1][sizeOf[regionRequest]()], "another key")

	// An old kernel does not know relaxed ordering, so the registration is tried again without it.
	k.refused[cmdRegMR] = unix.EINVAL
	tries := len(k.seen)
	_, err = d.Register(memory, AccessLocalWrite|AccessRelaxedOrdering)
	require.ErrorIs(t, err, unix.EINVAL)
	require.Len(t, k.seen, tries+2)
	require.EqualValues(t, AccessLocalWrite, at[regionRequest](k.seen[tries+1], 0).access)

	_, err = d.Register(nil, AccessLocalWrite)
	require.EqualError(t, err, "uverbs: register memory, device fake0: invalid argument")
}

// TestMemlock checks that the text of an error contains the limit of locked memory, the amounts that are used
// and needed, and advice for the user.
func TestMemlock(t *testing.T) {
	const status = "Name:\tx\nVmLck:\t       4 kB\nVmPin:\t     60 kB\nVmRSS:\t 9999 kB\n"
	require.EqualValues(t, 60<<10, lockedMemory(status))
	require.Zero(t, lockedMemory("VmLck: many kB\nVmPin\n"))
	err := memlockCause(4000, 4097, 65536, lockedMemory(status), 4096, unix.ENOMEM)
	require.EqualError(t, err, "cannot allocate memory: RLIMIT_MEMLOCK allows 65536 bytes of locked memory, 61440 are locked and 8192 more are needed:"+
		" raise it (ulimit -l unlimited, LimitMEMLOCK=infinity, or memlock in limits.conf)")
	require.ErrorIs(t, err, unix.ENOMEM)
	require.Equal(t, unix.ENOMEM, memlockCause(4096, 4096, 65536, 61440, 4096, unix.ENOMEM), "it would fit")
	require.Equal(t, unix.ENOMEM, memlockCause(0, 1<<40, 1<<64-1, 0, 4096, unix.ENOMEM), "no limit")
	require.Equal(t, unix.EPERM, memlockCause(0, 1<<40, 65536, 0, 4096, unix.EPERM), "only a limit of 0 is refused with EPERM")
	require.Equal(t, unix.EFAULT, memlockCause(0, 1<<40, 0, 0, 4096, unix.EFAULT))
}

// TestMemlockOfZero checks that the error of a registration names the limit of locked memory if this limit is 0. The
// kernel then refuses every registration with EPERM.
func TestMemlockOfZero(t *testing.T) {
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Max: old.Max}))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &old)) }()
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		d, err := c.NewProtectionDomain()
		require.NoError(t, err)
		k.refused[cmdRegMR] = unix.EPERM
		_, err = d.Register(make([]byte, 1), AccessLocalWrite)
		var locked *MemlockError
		require.ErrorAs(t, err, &locked)
		require.Zero(t, locked.Limit)
		require.ErrorIs(t, err, unix.EPERM)
		require.ErrorContains(t, err, "uverbs: register memory, device fake0: operation not permitted: RLIMIT_MEMLOCK allows 0 bytes")
	})
}

// TestOpenErrors checks that the error of a failed open gives the reason.
func TestOpenErrors(t *testing.T) {
	_, err := Open(&Device{Name: "mlx5_0", Driver: 1, ABI: 1})
	require.ErrorIs(t, err, ErrUnknownDriver)
	require.EqualError(t, err, "uverbs: open, device mlx5_0: the queues of the device's driver are known only to libibverbs (mlx5, version 1)")
	_, err = Open(&Device{Name: "rxe0", Driver: DriverRXE, ABI: 3})
	require.ErrorIs(t, err, ErrUnknownDriver)
	require.ErrorContains(t, err, "(rxe, version 3)")
	_, err = Open(&Device{Name: "rxe0", Driver: DriverRXE, ABI: 2, File: "dev/infiniband/uverbs99"})
	require.ErrorIs(t, err, unix.ENOENT)
	require.Contains(t, (&PermissionError{File: "/dev/infiniband/uverbs0", Err: unix.EACCES}).Error(), "/dev/infiniband/uverbs0: permission denied: the file needs to be readable")
	require.EqualError(t, &PermissionError{File: "/dev/infiniband/uverbs0", Err: unix.EPERM},
		"/dev/infiniband/uverbs0: operation not permitted: the container does not have the device: run it with --device /dev/infiniband/uverbs0")

	k := &fakeKernel{refused: map[uint32]error{cmdGetContext: unix.EIO}}
	_, err = open(&Device{Name: "siw0"}, k, siw{})
	require.ErrorIs(t, err, unix.EIO)
	require.True(t, k.closed)
}

// TestWhatCannotBeClosedStaysPinned makes the kernel fail to destroy objects. The test checks that their memory
// stays pinned even if the program no longer refers to it, because the device may still use it. Go's runtime
// panics when a Pinner with pinned memory is collected.
func TestWhatCannotBeClosedStaysPinned(t *testing.T) {
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		removed := func() {
			d, err := c.NewProtectionDomain()
			require.NoError(t, err)
			r, err := d.Register(make([]byte, 1<<16), AccessLocalWrite)
			require.NoError(t, err)
			cq, err := c.NewCompletionQueue(3, nil)
			require.NoError(t, err)
			q, err := c.NewQueuePair(&QueuePairConfig{Domain: d, Sends: cq, Receives: cq, Capacity: Capacity{Sends: 1, Receives: 1}})
			require.NoError(t, err)
			k.refused[cmdDeregMR], k.refused[cmdDestroyQP] = unix.EIO, unix.EIO
			require.ErrorIs(t, r.Close(), unix.EIO)
			require.ErrorIs(t, q.Close(), unix.EIO)
		}
		removed()
		for range 3 {
			goruntime.GC() // the finalizer of a Pinner would panic
		}
	})
}

// TestLimitsOfZero checks the limits that Attributes returns. Attributes and Port must return ErrAnswer if the
// kernel reports limits of zero.
func TestLimitsOfZero(t *testing.T) {
	c, k := fakeDevice(rxe{})
	var a deviceAnswer
	a.maxQP, a.maxQPWork, a.maxSegments, a.maxCQEntries, a.ports, a.maxReadsIn = 10, 20, 3, 1<<32-1, 1, 300
	k.answers[cmdQueryDevice] = bytesOf(&a)
	got, err := c.Attributes()
	require.NoError(t, err)
	require.Equal(t, 20, got.MaxWork)
	require.Equal(t, 1<<31-1, got.MaxCompletions)
	require.Equal(t, 300, got.MaxReadsIn)
	for cut := range len(k.answers[cmdQueryDevice]) - 5 {
		k.cut[cmdQueryDevice] = cut
		_, err = c.Attributes()
		require.ErrorIs(t, err, ErrAnswer)
	}
	_, err = c.Port(1)
	require.ErrorIs(t, err, ErrAnswer)
}
