package bootstrap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// An IPv4 address or network in IPv6 form is compared with IPv4 addresses. All other elements remain unchanged.
func TestNetworksInIPv6Form(t *testing.T) {
	for list, want := range map[string]string{
		"": "", "eth0": "eth0", "10.0.0.0/8": "10.0.0.0/8", "fd00::/8": "fd00::/8", "::/64": "::/64", "::a01:7": "::a01:7",
		"::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:0:0/96, lo": "0.0.0.0/0, lo", "eth0, ::ffff:10.1.0.7/128": "eth0,10.1.0.7/32",
		"::ffff:10.1.0.7": "10.1.0.7", "::ffff:10.0.0.0/95": "::ffff:10.0.0.0/95", "lo,::ffff:a01:7": "lo,10.1.0.7",
	} {
		require.Equal(t, want, bootstrap.Networks(list), list)
	}
}
