package connection_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// These environment variables hold the name and the interface of the device in the virtual machine.
const (
	deviceName      = "GORUN_TEST_CONNECTION"
	deviceInterface = "GORUN_TEST_CONNECTION_INTERFACE"
)

// TestKernel runs, in a virtual machine, the tests of this package that need a device.
func TestKernel(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 4 * time.Minute})
	rdmavm.TestProgram(t, share)
	for number, name := range []string{"rxe", "siw"} {
		t.Run(name, func(t *testing.T) {
			on := fmt.Sprintf("dummy%d", number)
			out, status, err := g.Run(fmt.Sprintf("/bin/ip addr add fd00:%d::1/64 dev %s nodad; %s=%s_%s %s=%s ./tests -test.run '^TestDevice' -test.v -test.timeout 100s",
				number, on, deviceName, name, on, deviceInterface, on))
			t.Log(out)
			require.NoError(t, err)
			require.Zero(t, status)
			require.Contains(t, out, "--- PASS: TestDeviceConnects")
		})
	}
}
