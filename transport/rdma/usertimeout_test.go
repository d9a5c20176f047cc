package rdma_test

import (
	"math"
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// TestUserTimeouts checks that a message arrives with every UserTimeout, also with one of less than a millisecond, and
// with one that exceeds the maximum of TCP_USER_TIMEOUT.
func TestUserTimeouts(t *testing.T) {
	for _, d := range []time.Duration{1, time.Millisecond, math.MaxInt32 * time.Millisecond, 1000 * time.Hour, math.MaxInt64} {
		ranks := newWorld(t, loopback(iwarp.New(iwarp.Config{UserTimeout: d}), 2), nil).ranks(t)
		pump(t, ranks, "a message", func() bool { return ranks[0].to(1).Send(transport.Header{}, nil) == nil })
		pump(t, ranks, "its arrival", func() bool { return ranks[1].arrivals == 1 })
	}
}
