//go:build linux && !gorun_shm && !portable

package runtime

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// private reports the private, loopback and link-local addresses of IPv4 and IPv6, and no others.
func TestPrivateAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"10.0.0.1": true, "172.16.3.4": true, "172.31.255.255": true, "192.168.1.1": true, "127.0.0.1": true, "169.254.1.1": true,
		"::1": true, "fd00::1": true, "fc00::1": true, "fe80::1": true,
		"172.32.0.1": false, "192.169.0.1": false, "100.64.0.1": false, "8.8.8.8": false, "2001:db8::1": false, "fec0::1": false,
	} {
		require.Equal(t, want, private(netip.MustParseAddr(address)), address)
	}
}

// The values of GORUN_ENCRYPT are yes, no and auto. The default is auto. Any other value is an error.
func TestEncryptionIsOneOfThree(t *testing.T) {
	for value, want := range map[string]string{"": bootstrap.EncryptAuto, "auto": bootstrap.EncryptAuto, "yes": bootstrap.EncryptYes, "no": bootstrap.EncryptNo} {
		t.Setenv(bootstrap.EnvEncrypt, value)
		got, err := encryption()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	t.Setenv(bootstrap.EnvEncrypt, "maybe")
	_, err := encryption()
	require.ErrorContains(t, err, `bad GORUN_ENCRYPT: "maybe" is none of yes, no and auto`)
}
