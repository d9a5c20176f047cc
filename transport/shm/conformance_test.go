package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// fabric wraps transports for the conformance suite.
func fabric(ts []*shm.Transport, end func()) *transporttest.Fabric {
	f := &transporttest.Fabric{Close: end}
	for _, tr := range ts {
		f.Transports = append(f.Transports, transport.Transport(tr))
		f.Sleepers = append(f.Sleepers, tr.Sleeper())
		f.Arenas = append(f.Arenas, tr.Arena())
	}
	return f
}

// mapped makes n transports in this process, on node memory in a memfd.
func mapped(tb testing.TB, n int, cfg shm.Config) ([]*shm.Transport, *shm.Node) {
	tb.Helper()
	fd := memory(tb, n)
	node, err := shm.OpenNode(fd, n, rangeBytes)
	require.NoError(tb, err)
	require.NoError(tb, unix.Close(fd))
	ts := make([]*shm.Transport, n)
	for i := range ts {
		cfg.Rank, cfg.LocalRank = i, i
		ts[i], err = shm.New(node, cfg)
		require.NoError(tb, err)
	}
	return ts, node
}

// The conformance suite of package transport passes on every kind of node memory and with direct
// and staged copies. All ranks are in one process, because the suite accesses the private memory of
// each rank and polls all ranks. What differs between processes (addresses, copies by
// the kernel, futexes, death) is tested in process_test.go.
func TestConformance(t *testing.T) {
	for name, disableCMA := range map[string]bool{"local": false, "local-staged": true} {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
				tb.Helper()
				return fabric(local(tb, ranks, disableCMA), nil)
			})
		})
	}
	for name, cfg := range map[string]shm.Config{
		"mapped": {}, "mapped-staged": {DisableCMA: true}, "mapped-fenced": {DisableMembarrier: true},
	} {
		t.Run(name, func(t *testing.T) {
			if !cfg.DisableCMA {
				needsAlone(t)
			}
			transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
				tb.Helper()
				ts, node := mapped(tb, ranks, cfg)
				return fabric(ts, func() { require.NoError(tb, node.Close()) })
			})
		})
	}
}
