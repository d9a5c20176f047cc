package ibverbs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// inGuest is the environment variable that is set in the virtual machine in which the tests of a device
// run.
const inGuest = "GORUN_TEST_IBVERBS"

// TestLibrary runs, in a virtual machine, the tests of this package that need a device. The virtual
// machine has the real libibverbs and its providers.
func TestLibrary(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 12 * time.Minute})
	rdmavm.LinkedTestProgram(t, share)
	for _, device := range []string{"rxe_dummy0", "siw_dummy1"} {
		t.Run(device, func(t *testing.T) {
			out, status, err := g.Run(inGuest + "=" + device + " ./tests -test.run ^TestDevice -test.v -test.timeout 300s")
			require.NoError(t, err)
			require.Zero(t, status, out)
			require.Contains(t, out, "--- PASS: TestDeviceMemory")
			t.Log(out)
		})
	}
}
