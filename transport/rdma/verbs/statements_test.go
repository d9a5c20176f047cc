package verbs_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestStatements runs the test suite of package verbstest on the in-memory provider of that package. It tests
// those rules of the manual pages that package verbs itself implements. The other providers run the same suite.
func TestStatements(t *testing.T) {
	for name, style := range map[string]verbstest.Style{"iWARP": verbstest.StyleIWARP, "InfiniBand": verbstest.StyleInfiniBand} {
		t.Run(name, func(t *testing.T) {
			verbstest.Run(t, func(testing.TB) verbstest.Harness { return verbstest.NewMemoryHarness(style) })
		})
	}
}
