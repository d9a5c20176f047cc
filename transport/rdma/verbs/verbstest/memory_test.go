package verbstest_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

func TestMemoryIWARP(t *testing.T) {
	verbstest.Run(t, func(testing.TB) verbstest.Harness { return verbstest.NewMemoryHarness(verbstest.StyleIWARP) })
}

func TestMemoryInfiniBand(t *testing.T) {
	verbstest.Run(t, func(testing.TB) verbstest.Harness { return verbstest.NewMemoryHarness(verbstest.StyleInfiniBand) })
}
