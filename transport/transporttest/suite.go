package transporttest

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport"
)

// Fabric is a number of ranks of one process, connected by the transport under
// test. The suite closes the transports; Close, which may be nil, frees the rest
// and is called after that.
type Fabric struct {
	Transports []transport.Transport
	Sleepers   []transport.Sleeper
	// Arenas is empty where the transport has none.
	Arenas []transport.Arena
	Close  func()
}

// Make returns a new fabric of the given number of ranks, or fails or skips the
// test. If the machine lacks what a transport needs, Make skips with ErrNotSupported.
type Make func(tb testing.TB, ranks int) *Fabric

// rule is one sentence of the contract and its test.
type rule struct {
	name  string
	ranks int
	test  func(r *rig)
}

// Run tests every rule of package transport on fabrics that newFabric returns.
// Rules that the transport's capabilities exclude are skipped, with the reason.
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

// few returns the number of ranks of a rule: with -short not more than most rules
// need, because each rank costs the time to open and close its transport.
func few(ranks int) int {
	if testing.Short() {
		return min(ranks, 12)
	}
	return ranks
}
