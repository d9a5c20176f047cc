package kernel

import (
	"errors"
	"io"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/ibverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// fakeAdapter makes objects that do nothing, and counts the open ones.
type fakeAdapter struct {
	adapter
	open     int
	takes    int // maximum number of bytes of inline data
	grants   int
	refusal  error
	modified uverbs.PairAttributes
}

type fakeObject struct {
	completions
	protection
	pair
	of *fakeAdapter
}

func (o *fakeObject) Close() error                          { o.of.open--; return nil }
func (o *fakeObject) Modify(a *uverbs.PairAttributes) error { o.of.modified = *a; return nil }

func (o *fakeObject) register([]byte, uverbs.Access) (provider.Registered, io.Closer, error) {
	return provider.Registered{}, o, nil
}

func (a *fakeAdapter) object() *fakeObject { a.open++; return &fakeObject{of: a} }

func (a *fakeAdapter) newDomain() (protection, error)                   { return a.object(), nil }
func (a *fakeAdapter) newCompletions(int, channel) (completions, error) { return a.object(), nil }
func (a *fakeAdapter) newPair(c *pairConfig) (madePair, error) {
	if c.capacity.Inline > a.takes {
		return madePair{}, a.refusal
	}
	return madePair{pair: a.object(), granted: uverbs.Capacity{Inline: a.grants}}, nil
}

// TestInline checks how the provider finds the maximum of inline data. The provider requests smaller and
// smaller values until the device makes a queue pair. Then it uses the value that the device has granted, but at
// most inlineMost.
func TestInline(t *testing.T) {
	for _, test := range []struct {
		name                string
		takes, grants, want int
		refusal, is         error
	}{
		{"all", 1000, 512, inlineMost, nil, nil},
		{"as siw", 80, 80, 80, unix.EINVAL, nil},
		{"none", 0, 0, 0, unix.EINVAL, nil},
		{"not reliable", -1, 0, 0, unix.EOPNOTSUPP, ErrNoConnections},
		{"no memory", -1, 0, 0, unix.ENOMEM, unix.ENOMEM},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &fakeAdapter{takes: test.takes, grants: test.grants, refusal: test.refusal}
			n, err := inlineOf(a)
			if test.is == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, test.is)
				require.Equal(t, errors.Is(test.is, ErrNoConnections), errors.Is(err, ErrNoConnections))
			}
			require.Equal(t, test.want, n)
			require.Zero(t, a.open, "nothing is left")
		})
	}
}

// TestWays checks which devices the provider drives itself and which need libibverbs. The provider itself
// drives siw and rxe. If libibverbs is missing, the error for another device says what is missing.
func TestWays(t *testing.T) {
	siw := uverbs.Device{Name: "siw0", Driver: uverbs.DriverSIW, ABI: 1, Transport: uverbs.TransportIWARP}
	way, err := wayOf(&siw, false)
	require.NoError(t, err)
	require.Equal(t, "in Go", way)
	byLibrary := map[string]uverbs.Device{
		"another driver": {Name: "mlx5_0", Driver: 1, ABI: 1}, "another version": {Name: "siw0", Driver: uverbs.DriverSIW, ABI: 9},
	}
	for name, d := range byLibrary {
		way, err = wayOf(&d, false)
		if missing := ibverbs.Available(); missing != nil {
			require.Equal(t, missing, err, name)
			_, _, err = openAdapter(&d, false)
			require.ErrorIs(t, err, missing)
			require.ErrorContains(t, err, d.Name)
			continue
		}
		require.NoError(t, err, name)
		require.Contains(t, way, "by libibverbs.so.1", name)
	}
	asked, err := wayOf(&siw, true)
	require.Equal(t, way, asked, "as others")
	require.Equal(t, ibverbs.Available(), err)
	_, _, err = openAdapter(&uverbs.Device{Name: "efa_0", Driver: 17, Transport: uverbs.TransportOther}, false)
	require.ErrorIs(t, err, ErrNoConnections)
	require.ErrorContains(t, err, "efa_0 (efa)")
}

// TestPrepare checks that a queue pair enters the Init state before it is connected, so that it can take
// receives. InfiniBand needs this state, and iWARP does not need it.
func TestPrepare(t *testing.T) {
	a := &fakeAdapter{}
	d := &device{port: 2}
	p := &queuePair{pair: a.object(), device: d}
	require.NoError(t, p.prepare())
	require.Equal(t, uverbs.PairAttributes{Mask: 1<<0 | 1<<3 | 1<<4 | 1<<5, State: uverbs.StateInit, Port: 2}, a.modified)
	a.modified = uverbs.PairAttributes{}
	d.attributes.ActiveSpeaksFirst = true
	require.NoError(t, p.prepare())
	require.Zero(t, a.modified, "iWARP")
}

// happy is the Upcalls of an endpoint that accepts any connection.
type happy struct{ provider.Upcalls }

func (happy) Established(*provider.Proposal, netip.AddrPort, netip.AddrPort) error { return nil }

// TestFailureBeforeTheConnection checks that a failure before the connection is established is not lost: the
// connection breaks as soon as it is established.
func TestFailureBeforeTheConnection(t *testing.T) {
	p := &queuePair{device: &device{wakeup: -1}, config: provider.QueuePairConfig{Upcalls: happy{}}}
	require.NoError(t, (*outcome)(p).Established(nil, netip.AddrPort{}, netip.AddrPort{}))
	require.Empty(t, p.device.broken)

	p = &queuePair{device: &device{wakeup: -1}, config: provider.QueuePairConfig{Upcalls: happy{}}}
	p.end(unix.EINVAL)
	p.device.broken = nil // as if Progress had found no connection to break
	require.NoError(t, (*outcome)(p).Established(nil, netip.AddrPort{}, netip.AddrPort{}))
	require.Equal(t, []*queuePair{p}, p.device.broken)
}

// TestModify checks that all attributes from the connection manager reach the device. The one exception is the
// RNR timer: the connection manager leaves it at code 0, which means the longest time, and the provider sets
// code 12.
func TestModify(t *testing.T) {
	a := &fakeAdapter{}
	p := &queuePair{pair: a.object()}
	require.NoError(t, p.Modify(&rdmacm.Attributes{}), "iWARP: nothing to do")
	require.Zero(t, a.modified)
	require.NoError(t, p.Modify(&rdmacm.Attributes{
		Mask: 1<<21 - 1, State: rdmacm.StateReady, PathMTU: 1, QKey: 2, ReceivePSN: 3, SendPSN: 4, DestinationQP: 5, Access: 6, PKeyIndex: 7,
		Address: rdmacm.AddressHandle{
			DGID: [16]byte{15: 8}, FlowLabel: 9, SGIDIndex: 10, HopLimit: 11, TrafficClass: 12, DLID: 13, ServiceLevel: 14, SourcePathBits: 15,
			StaticRate: 16, Global: true, Port: 17,
		},
		Reads: 18, ReadsServed: 19, MinRNRTimer: 0, Port: 20, Timeout: 21, RetryCount: 6, RNRRetryCount: 7,
	}))
	require.Equal(t, uverbs.PairAttributes{
		Mask: 1<<21 - 1, State: uverbs.StateReceive, PathMTU: 1, Qkey: 2, ReceivePSN: 3, SendPSN: 4, Remote: 5, Access: 6, PkeyIndex: 7,
		Path: uverbs.Path{
			GID: [16]byte{15: 8}, FlowLabel: 9, GIDIndex: 10, HopLimit: 11, TrafficClass: 12, LID: 13, ServiceLevel: 14, PathBits: 15,
			StaticRate: 16, Global: true, Port: 17,
		},
		ReadsOut: 18, ReadsIn: 19, RNRTimer: 12, Port: 20, Timeout: 21, Retries: 6, RNRRetries: 7,
	}, a.modified)
}

// TestDeviceThatCannotBeOpened checks that the explanation of a device that cannot be opened is only an error. It does
// not say how the device is driven.
func TestDeviceThatCannotBeOpened(t *testing.T) {
	d := uverbs.Device{Name: "siw9", Driver: uverbs.DriverSIW, ABI: 1, File: "dev/infiniband/no such file", Transport: uverbs.TransportIWARP}
	way, err := explain(&d, false)
	require.Empty(t, way)
	require.ErrorIs(t, err, unix.ENOENT)
	require.ErrorContains(t, err, "siw9")
}
