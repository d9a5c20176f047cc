package transporttest

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport"
)

// Fabric is a set of ranks of one process that the transport under test connects. The suite closes the
// transports and then calls Close, which releases all other resources. Close may be nil.
type Fabric struct {
	Transports []transport.Transport
	Sleepers   []transport.Sleeper
	// Arenas is empty if the transport has no arenas.
	Arenas []transport.Arena
	Close  func()
}

// Make returns a new fabric of the given number of ranks, or fails or skips the test. If the machine lacks
// something that the transport needs, Make skips the test with a message that contains ErrNotSupported.
type Make func(tb testing.TB, ranks int) *Fabric

// rule is a rule of the contract. name states the rule, ranks is the number of ranks of the test without -short
// (see few), and test is the test.
type rule struct {
	name  string
	ranks int
	test  func(r *rig)
}

// Run tests every rule of the contract of package transport on fabrics that newFabric returns. If
// the transport lacks a capability that a rule needs, the rule is skipped, with the reason.
func Run(t *testing.T, newFabric Make) {
	t.Helper()
	for _, rules := range [][]rule{messageRules, bulkRules, memoryRules, sleepRules, lossRules, trafficRules} {
		for _, rule := range rules {
			t.Run(rule.name, func(t *testing.T) {
				r := newRig(t, newFabric, few(rule.ranks))
				rule.test(r)
				r.close()
			})
		}
	}
	t.Run("NothingIsLeft", func(t *testing.T) { testNothingIsLeft(t, newFabric) })
}

// few returns the number of ranks with which a rule is tested. Without -short, it is the argument ranks.
// With -short, it is at most 12, because opening and closing the transport of each rank takes time.
func few(ranks int) int {
	if testing.Short() {
		return min(ranks, 12)
	}
	return ranks
}
