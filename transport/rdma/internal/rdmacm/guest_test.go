package rdmacm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// The first two environment variables hold the address and the interface of the device in the virtual machine.
// The third one holds the address to which TestRoCEPeer connects. TestRoCEPeer is the process that
// TestRoCEKilled kills.
const (
	deviceAddress   = "GORUN_TEST_RDMACM"
	deviceInterface = "GORUN_TEST_RDMACM_INTERFACE"
	devicePeer      = "GORUN_TEST_RDMACM_PEER"
)

// TestKernel runs, in a virtual machine, the tests of this package that need a device.
func TestKernel(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 4 * time.Minute})
	rdmavm.TestProgram(t, share)
	for _, d := range []struct{ name, number, tests string }{
		{"rxe", "0", "^Test(Device|RoCE)"},
		{"siw", "1", "^Test(Device|IWARP)"},
	} {
		t.Run(d.name, func(t *testing.T) {
			out, status, err := g.Run(fmt.Sprintf("/bin/ip addr add fd00:%[1]s::1/64 dev dummy%[1]s nodad; %[2]s=10.9.%[1]s.1 %[3]s=dummy%[1]s ./tests -test.run '%[4]s' -test.v -test.timeout 100s",
				d.number, deviceAddress, deviceInterface, d.tests))
			t.Log(out)
			require.NoError(t, err)
			require.Zero(t, status, "%s", out)
			require.Contains(t, out, "--- PASS: TestDeviceResolves")
		})
	}
}
