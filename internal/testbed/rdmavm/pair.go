package rdmavm

import (
	"sync"
	"testing"
)

// StartPair boots two guests as Start does. Their interfaces eth1 are connected. guest1 has the address
// 10.8.0.1, and guest2 has 10.8.0.2. The guests reach each other by ssh. Both mount the same Config.Share.
func StartPair(tb testing.TB, c Config) (one, two *Guest) {
	tb.Helper()
	wanted(tb)
	wire := tb.TempDir()
	var guests [2]*Guest
	var errs [2]error
	var both sync.WaitGroup
	for i := range guests {
		config := c
		config.wire, config.number = wire, i+1
		both.Go(func() { guests[i], errs[i] = Boot(tb.Context(), config) })
	}
	both.Wait()
	for _, g := range guests {
		if g != nil {
			tb.Cleanup(g.Close)
		}
	}
	for _, err := range errs {
		booted(tb, err)
	}
	return guests[0], guests[1]
}
