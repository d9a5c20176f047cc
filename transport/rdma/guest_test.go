package rdma_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/kernel"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// inGuest is the name of an environment variable. The variable holds the name of the kernel device on which
// the tests of this file run.
const inGuest = "GORUN_TEST_RDMA"

// siwExcept skips the one test of the suite that the siw driver fails. siw sends a Read Response from any
// registered memory, even if peers have no right to read it (siw_qp_sq_proc_tx checks no access right).
const siwExcept = " -test.skip '^TestDeviceConformance$/^AccessIsWhatWasGranted$'"

// TestKernel starts a virtual machine and runs two groups of tests in it: the suite of package transporttest
// on devices of the kernel, and long transfers over two devices.
func TestKernel(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 30 * time.Minute, Devices: []string{"rxe:dummy0", "siw:dummy1", "rxe:dummy2"}})
	rdmavm.TestProgram(t, share)
	t.Run("stripes", func(t *testing.T) {
		out, status, err := g.Run(inGuestRails + "=rxe_dummy0,rxe_dummy2 ./tests -test.run ^TestDeviceStripes$ -test.v -test.timeout 900s")
		require.NoError(t, err)
		require.Zero(t, status, out)
		require.Contains(t, out, "--- PASS: TestDeviceStripes")
		t.Log(out)
	})
	for device, except := range map[string]string{"rxe_dummy0": "", "siw_dummy1": siwExcept} {
		t.Run(device, func(t *testing.T) {
			out, status, err := g.Run(inGuest + "=" + device + " ./tests -test.run ^TestDeviceConformance$" + except + " -test.v -test.short -test.timeout 900s")
			require.NoError(t, err)
			require.Zero(t, status, out)
			require.Contains(t, out, "--- PASS: TestDeviceConformance")
			require.NotContains(t, out, "--- SKIP: TestDeviceConformance ")
		})
	}
}

// TestDeviceConformance runs the suite of package transporttest on a device of the kernel.
func TestDeviceConformance(t *testing.T) {
	device := os.Getenv(inGuest)
	if device == "" {
		t.Skip("runs in a guest machine: see TestKernel")
	}
	transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
		tb.Helper()
		places := make([]place, ranks)
		for i := range places {
			places[i] = place{kernel.New(kernel.Config{}), device}
		}
		return newWorld(tb, places, func(c *rdma.Config) { c.Goodbye = 200 * time.Millisecond }).fabric()
	})
}
