package iwarp

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMostCrowded checks which half-open connection is dropped when there are too many. The lists begin with the
// oldest connection.
func TestMostCrowded(t *testing.T) {
	const a, b, c = "10.0.0.1 ", "10.0.0.2 ", "10.0.0.3 "
	for _, test := range []struct {
		name, from string
		dropped    int
	}{
		{"one", a, 0},
		{"all the same", strings.Repeat(a, 5), 0},
		{"all others", a + b + c + "10.0.0.4 ", 0},
		{"one among many of one address", a + strings.Repeat(b, 7), 1},
		{"later", b + a + b + b + b + b, 0},
		{"the newer half is spared", a + b + strings.Repeat(c, 2), 0},
		{"many ranks behind one address, newer than strangers", strings.Repeat(a, 4) + strings.Repeat(b, 4), 0},
		{"the newer half does not count", a + b + b + a + a + a, 1},
		{"one host with many addresses of IPv6", "2001:db8::1 2001:db8:0:1::1 2001:db8:0:1::2 2001:db8::2 2001:db8::3 2001:db8::4 ", 1},
		{"two addresses of IPv4 that differ at the end", a + "10.0.0.9 10.0.0.9 " + a + a, 1},
		{"zones", "fe80::1%1 fe80::2%2 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 ", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var list []*halfOpen
			for from := range strings.FieldsSeq(test.from) {
				list = append(list, &halfOpen{host: hostOf(netip.MustParseAddr(from))})
			}
			require.Equal(t, test.dropped, mostCrowded(list))
		})
	}
	require.Zero(t, mostCrowded([]*halfOpen{{host: hostOf(netip.Addr{})}}), "an address that is none")
}

func BenchmarkMostCrowded(b *testing.B) {
	list := make([]*halfOpen, 256)
	for i := range list {
		list[i] = &halfOpen{host: host(i)}
	}
	for b.Loop() {
		mostCrowded(list)
	}
}
