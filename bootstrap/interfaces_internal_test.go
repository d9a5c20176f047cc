//go:build linux && !portable

package bootstrap

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// meetingAddresses returns the addresses at which rank 0 can be reached, in the networks that EnvNet selects.
// It returns loopback addresses only if all ranks are on one machine, if EnvNet selects them, or if there are
// no other addresses.
func TestMeetingAddresses(t *testing.T) {
	own := func(ip string, loopback, link bool) ownAddress {
		return ownAddress{ip: netip.MustParseAddr(ip), link: 1 << 20, loopback: loopback, otherwise: link}
	}
	all := []ownAddress{own("127.0.0.1", true, false), own("10.77.0.1", false, false), own("fe80::1", false, true), own("fd77::1", false, false)}
	for name, tc := range map[string]struct {
		all  []ownAddress
		wish string
		here bool
		want string
	}{
		"all":             {all, "", false, "[10.77.0.1 fd77::1]"},
		"a network":       {all, "10.0.0.0/8", false, "[10.77.0.1]"},
		"mapped network":  {all, "::ffff:10.0.0.0/104", false, "[10.77.0.1]"},
		"mapped address":  {all, "::ffff:10.77.0.1", false, "[10.77.0.1]"},
		"mapped, short":   {all, "::ffff:10.0.0.0/95", false, ""},
		"an address":      {all, "fd77::1", false, "[fd77::1]"},
		"one of several":  {all, "10.9.0.0/16,fd00::/8", false, "[fd77::1]"},
		"one node":        {append([]ownAddress{own("::1", true, false)}, all...), "10.0.0.0/8", true, "[::1]"},
		"only loopback":   {all[:1], "", false, "[127.0.0.1]"},
		"nothing of it":   {all, "192.168.0.0/16", false, ""},
		"no interface":    {all, "nosuch0", false, ""},
		"a path as name":  {all, "../../..", false, ""},
		"nothing at all":  {nil, "", false, ""},
		"a link's own":    {all[2:3], "", false, ""},
		"loopback wished": {all, "127.0.0.0/8", false, "[127.0.0.1]"},
	} {
		got, err := meetingAddresses(tc.all, tc.wish, tc.here)
		if tc.want == "" {
			of := ""
			if tc.wish != "" {
				of = fmt.Sprintf(" of %s=%q", EnvNet, tc.wish)
			}
			require.ErrorContains(t, err, "has an address"+of+" that is not link-local", name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tc.want, fmtAll(got), name)
	}
}

// onlyDown is set in the environment of a process in whose network namespace each interface is down.
const onlyDown = "GORUN_TEST_ONLY_DOWN"

// ownAddresses returns the addresses of interfaces that are up, and no address of an interface that is down.
func TestOwnAddressesAreThoseOfInterfacesThatAreUp(t *testing.T) {
	mine, err := ownAddresses()
	require.NoError(t, err)
	if os.Getenv(onlyDown) != "" {
		require.Empty(t, mine)
		return
	}
	require.NotEmpty(t, mine)
	inside := func(command ...string) ([]byte, error) {
		prepare := `ip address add 10.77.0.1/16 dev lo && exec "$0" "$@"` // lo of a new namespace is down
		c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", prepare}, command...)...)
		c.Env = append(os.Environ(), onlyDown+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET}
		return c.CombinedOutput()
	}
	if out, err := inside("true"); err != nil {
		t.Skipf("needs leave for a network namespace: %v: %s", err, out)
	}
	out, err := inside(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}

func fmtAll(ips []netip.Addr) string {
	text := "["
	for i, ip := range ips {
		if i > 0 {
			text += " "
		}
		text += ip.String()
	}
	return text + "]"
}
