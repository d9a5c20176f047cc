package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlanIsWhole checks that every row names a measurement of its plan, and that the programs of
// every measurement exist for gorun and for the peers.
func TestPlanIsWhole(t *testing.T) {
	for _, p := range plans() {
		keys, peers := map[string]measurement{}, []string{better, absolute}
		for _, s := range p.peers("", true)[1:] {
			peers = append(peers, s.name)
			if s.program != "" {
				require.FileExists(t, filepath.Join(s.program, "main.go"))
			}
		}
		for _, m := range p.measurements {
			require.NotContains(t, keys, m.key)
			keys[m.key] = m
			require.Equal(t, m.key, measurementOf(m.key))
			require.FileExists(t, filepath.Join("..", m.program, "main.go"))
			if !m.alone && m.partners == nil && m.reference == "" {
				require.FileExists(t, filepath.Join("twins", m.program+".c"))
			}
			require.Positive(t, m.timeout)
			require.Positive(t, m.ranks)
			require.Subset(t, peers, m.partners)
		}
		names := map[string]bool{}
		for _, r := range p.rows {
			require.False(t, names[r.name], r.name)
			names[r.name] = true
			requireRow(t, &r, keys, peers)
		}
		for _, c := range p.curves {
			require.NotEmpty(t, c.measurements)
			for _, key := range c.measurements {
				require.Contains(t, keys, key)
				require.False(t, keys[key].alone, "%s needs the peers", key)
			}
		}
		require.True(t, p.title == "" || len(p.rows) > 0, "%s: the picture is of rows", p.name)
	}
}

// requireRow checks that the measurements that a row uses exist, and that its bar and its aim agree.
func requireRow(t *testing.T, r *row, keys map[string]measurement, peers []string) {
	t.Helper()
	require.Contains(t, keys, measurementOf(r.measurement))
	theirs := r.measurement
	if r.theirs != "" {
		theirs = r.theirs
		require.Contains(t, keys, measurementOf(r.theirs))
	}
	switch {
	case r.against == absolute:
	case slices.Contains(peers, r.against):
		require.False(t, keys[measurementOf(theirs)].alone, "%s needs the peers", r.name)
	default:
		require.Contains(t, keys, measurementOf(r.against))
	}
	require.True(t, r.free || r.bar > 0, r.name)
	if r.aim > 0 && r.bar > 0 {
		require.Equal(t, r.higher, r.aim > r.bar, "%s: the aim is beyond the bar", r.name)
	}
}

// TestNoIdleTwins checks that every file of the twins is the twin of a measured program, or a common header.
func TestNoIdleTwins(t *testing.T) {
	used := map[string]bool{"twin.h": true, "work.h": true}
	for _, p := range plans() {
		for _, m := range p.measurements {
			used[m.program+".c"] = true
		}
	}
	entries, err := os.ReadDir("twins")
	require.NoError(t, err)
	for _, e := range entries {
		require.True(t, used[e.Name()], e.Name())
	}
}

func TestCommand(t *testing.T) {
	bound := measurement{program: "latency", ranks: 2, bound: true, args: []string{"-m", "8"}, ours: []string{"-arena"}, spinning: []string{"-i", "9"}}
	crowd := measurement{program: "latency", ranks: 64, args: []string{"-pairs"}, spinning: []string{"-i", "9"}, quick: []string{"-i", "1"}}
	loss := measurement{program: "loss", ranks: 3, launch: []string{"-on-failure", "continue"}}
	far := measurement{program: "latency", ranks: 2, bound: true, network: true, launch: []string{"-v"}, env: []string{"A=1"}}
	all := systems("/d", true)
	for _, tc := range []struct {
		system int
		m      *measurement
		quick  bool
		want   []string
	}{
		{0, &bound, false, []string{"/d/gorun", "-bind-to", "core", "-np", "2", "/d/latency", "-m", "8", "-arena"}},
		{0, &loss, false, []string{"/d/gorun", "-bind-to", "core", "-np", "3", "-on-failure", "continue", "/d/loss"}},
		{0, &crowd, false, []string{"/d/gorun", "-bind-to", "core", "-np", "64", "/d/latency", "-pairs"}},
		{0, &crowd, true, []string{"/d/gorun", "-bind-to", "core", "-np", "8", "/d/latency", "-pairs", "-i", "1"}},
		{1, &bound, false, []string{"mpirun.openmpi", "--bind-to", "core", "--map-by", "core", "-np", "2", "/d/latency.mpicc.openmpi", "-m", "8"}},
		{1, &crowd, false, []string{"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np", "64", "/d/latency.mpicc.openmpi", "-pairs"}},
		{2, &crowd, false, []string{"mpirun.mpich", "-np", "64", "/d/latency.mpicc.mpich", "-pairs", "-i", "9"}},
		{2, &bound, false, []string{"mpirun.mpich", "-bind-to", "core", "-np", "2", "/d/latency.mpicc.mpich", "-m", "8", "-i", "9"}},
		{0, &far, false, []string{"/d/gorun", "-bind-to", "core", "-transport", "rdma", "-np", "2", "-v", "/d/latency"}},
		{1, &far, false, []string{"mpirun.openmpi", "--bind-to", "core", "--map-by", "core", "--mca", "btl", "tcp,self", "-np", "2", "/d/latency.mpicc.openmpi"}},
		{2, &far, false, []string{"mpirun.mpich", "-bind-to", "core", "-np", "2", "/d/latency.mpicc.mpich"}},
		{4, &crowd, true, []string{"mpirun.mpich", "-np", "8", "/d/latency.mpicc.mpich", "-pairs", "-i", "1"}},
	} {
		require.Equal(t, tc.want, all[tc.system].command("/d", tc.m, tc.quick))
	}
	local := measurement{program: "actors", ranks: 1, args: []string{"-local"}, quick: []string{"-scale", "0.01"}}
	beside := actorSystems("/d", false)
	require.Equal(t, []string{"/d/gorun", "-np", "1", "/d/actors", "-local"}, beside[0].command("/d", &local, false))
	require.Equal(t, []string{"/d/protoactor", "-local"}, beside[1].command("/d", &local, false))
	require.Equal(t, []string{"/d/netrpc", "-local", "-scale", "0.01"}, beside[2].command("/d", &local, true))
	require.Len(t, systems("/d", false), 3)
	require.Equal(t, []string{"A=1"}, all[0].environment(&far), "ours alone")
	require.Equal(t, all[1].env, all[1].environment(&far))
	require.Equal(t, []string{"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}, all[2].environment(&far))
	require.Empty(t, all[2].environment(&bound))
}
