package kernel_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
	"github.com/gorun-hpc/gorun/transport/rdma/kernel"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// inGuest is the environment variable that holds, in the virtual machine, the name of the device to test.
// byLibrary is the environment variable that makes libibverbs drive this device.
const (
	inGuest   = "GORUN_TEST_KERNEL"
	byLibrary = "GORUN_TEST_KERNEL_LIBRARY"
)

// exceptions lists, for each device, the statements of docs/connection-model.md that do not hold, and what the
// device does instead.
var exceptions = map[string]map[string]string{
	"siw_dummy1": siwExceptions,
	"rxe_dummy0": rxeExceptions,
}

// TestKernel runs the specification of package verbs (package verbstest) on each device. Each device has a
// virtual machine of its own, because defects of siw can crash the kernel.
func TestKernel(t *testing.T) {
	for device := range exceptions {
		t.Run(device, func(t *testing.T) { testSpecification(t, device, rdmavm.TestProgram, "") })
	}
}

// TestKernelByLibrary runs the specification through libibverbs and its providers, which all other adapters use.
func TestKernelByLibrary(t *testing.T) {
	for device := range exceptions {
		t.Run(device, func(t *testing.T) { testSpecification(t, device, rdmavm.LinkedTestProgram, byLibrary+"=1 ") })
	}
}

// testSpecification runs this package's tests of a device in a virtual machine.
func testSpecification(t *testing.T, device string, build func(tb testing.TB, dir string), settings string) {
	t.Helper()
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 16 * time.Minute})
	build(t, share)
	list, skip := exceptions[device], ""
	if rows := names(list); len(rows) > 0 {
		skip = " -test.skip '^TestDeviceVerbs$/^(" + strings.Join(rows, "|") + ")_'"
	}
	out, status, err := g.Run(settings + inGuest + "=" + device + " ./tests -test.run ^TestDevice" + skip + " -test.v -test.timeout 900s")
	require.NoError(t, err)
	require.Zero(t, status, out)
	require.Contains(t, out, "--- PASS: TestDeviceVerbs")
	for row, reason := range list {
		t.Logf("not run: %s: %s", row, reason)
	}
}

// names returns the keys of a list of exceptions. Each key is the beginning of the name of a subtest of
// verbstest.
func names(list map[string]string) []string {
	all := make([]string, 0, len(list))
	for row := range list {
		all = append(all, row)
	}
	return all
}

func deviceName(tb testing.TB) string {
	tb.Helper()
	name := os.Getenv(inGuest)
	if name == "" {
		tb.Skip("runs in a guest machine: see TestKernel")
	}
	return name
}

// newProvider returns the provider under test.
func newProvider() *kernel.Provider {
	return kernel.New(kernel.Config{Library: os.Getenv(byLibrary) != ""})
}

// harness opens adapters on a device.
type harness struct{ name string }

// Open implements verbstest.Harness.
func (h *harness) Open(tb testing.TB) *verbs.Adapter {
	tb.Helper()
	a, err := verbs.Open(newProvider(), h.name)
	require.NoError(tb, err)
	return a
}

// Inject implements verbstest.Harness.
func (h *harness) Inject(tb testing.TB, f verbstest.Fault) (verbstest.Scene, bool) {
	tb.Helper()
	if f == verbstest.FaultUnreachable {
		return verbstest.Scene{Remote: netip.MustParseAddrPort("198.51.100.1:7471")}, true
	}
	return verbstest.Scene{}, false
}

// TestDeviceVerbs runs the specification of package verbs.
func TestDeviceVerbs(t *testing.T) {
	name := deviceName(t)
	verbstest.Run(t, func(testing.TB) verbstest.Harness { return &harness{name: name} })
}

// TestDeviceNames checks that a device can be opened by its name, its interface or its address.
func TestDeviceNames(t *testing.T) {
	device := deviceName(t)
	all, err := newProvider().Interfaces()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"rxe_dummy0", "siw_dummy1"}, all)
	_, on, _ := strings.Cut(device, "_")
	for _, name := range []string{device, on, map[string]string{"dummy0": "10.9.0.1", "dummy1": "10.9.1.1"}[on]} {
		a, err := verbs.Open(newProvider(), name)
		require.NoError(t, err)
		require.Contains(t, a.Attributes().Transport, device)
		if os.Getenv(byLibrary) != "" {
			require.Regexp(t, `^(rxe|siw) by libibverbs\.so\.1\.[0-9.]+, device`, a.Attributes().Transport)
		} else {
			require.Regexp(t, "^(rxe|siw) in Go, device", a.Attributes().Transport)
		}
		require.NoError(t, a.Close())
	}
	_, err = verbs.Open(newProvider(), "mlx5_0")
	require.ErrorIs(t, err, verbs.ErrInvalidParameter)
	require.ErrorContains(t, err, "mlx5_0")
}
