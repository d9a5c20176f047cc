//go:build linux && !gorun_shm && !portable

package runtime

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// TestEveryRefusalIsExplained requires that the explanation contains every counter of dropped
// connections and refused requests.
func TestEveryRefusalIsExplained(t *testing.T) {
	f := &rdmaFabric{Transport: &rdma.Transport{}, iwarp: iwarp.New(iwarp.Config{})}
	n := &network{fabric: f}
	require.Empty(t, n.explain())
	c := f.iwarp.Counters()
	counters := []*atomic.Uint64{&c.HungUp, &c.Strangers, &c.Late, &c.Crowded, &c.Scarce, &c.Unsealed, &c.Refused}
	s := reflect.ValueOf(f.Strangers()).Elem()
	for i := range s.NumField() {
		if s.Type().Field(i).IsExported() {
			counters = append(counters, s.Field(i).Addr().Interface().(*atomic.Uint64))
		}
	}
	for i, counter := range counters {
		counter.Store(uint64(100 + i))
	}
	text := strings.Join(n.explain(), "\n")
	for i := range counters {
		require.Equal(t, 1, strings.Count(text, fmt.Sprintf("%d ", 100+i)), text)
	}
}

// Before the cards of all ranks have arrived, a rank reaches its peers over the network. After the
// cards have arrived, a peer without an address in its card cannot be reached.
func TestPeersThatComeBeforeTheirCards(t *testing.T) {
	t.Setenv(bootstrap.EnvTransport, transportRDMA)
	require.NoError(t, Local(2, func(w *World) error {
		early := &World{job: w.job, shm: w.shm, network: w.network}
		require.Same(t, w.network.fabric.polled(), early.route(1-w.Rank()))
		early.book.Store(&bootstrap.Book{})
		require.IsType(t, gap{}, early.route(1-w.Rank()))
		return nil
	}))
}
