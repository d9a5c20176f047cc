package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// -on-failure respawn has an optional number of restarts. -spares is valid only together with -on-failure
// respawn.
func TestRespawnOption(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for value, restarts := range map[string]int{"respawn": restartsDefault, "respawn=1": 1, "respawn=10000": 10000} {
		o, err := parseOptions([]string{"-np", "2", "-on-failure", value, "x"}, none)
		require.NoError(t, err)
		require.Equal(t, bootstrap.OnFailureRespawn, o.onFailure)
		require.Equal(t, restarts, o.restarts)
	}
	o, err := parseOptions([]string{"-on-failure", "respawn=5", "-on-failure", "kill", "x"}, none)
	require.NoError(t, err)
	require.Zero(t, o.restarts, "the last value counts")
	for _, value := range []string{"respawn=", "respawn=0", "respawn=-1", "respawn=x", "respawn=10001", "kill=3", "again"} {
		_, err := parseOptions([]string{"-np", "2", "-on-failure", value, "x"}, none)
		require.Error(t, err, value)
	}
	o, err = parseOptions([]string{"-np", "2", "-host", "h1,h2,h3", "-on-failure", "respawn", "-spares", "1", "x"}, none)
	require.NoError(t, err)
	require.Equal(t, 1, o.spares)
	for line, spares := range map[string]int{
		"-on-failure respawn=5 -spares 5 x":                           5,
		"-on-failure respawn -host h1:2,h2:9 -spares 4 x":             4, // a restart may replace all ranks of a host
		"-k8s-manifest -image i -on-failure respawn=1 -spares 2 -- x": 2,
	} {
		o, err := parseOptions(strings.Fields(line), none)
		require.NoError(t, err, line)
		require.Equal(t, spares, o.spares)
	}
	for want, line := range map[string]string{
		"-spares is for -on-failure respawn": "-spares 1 x",
		"want a number of processes":         "-on-failure respawn -spares -1 x",
		"-spares 4: on one machine a restart uses one spare, and the job may have 3 restarts (-on-failure respawn=N): want at most 3 spares": "-on-failure respawn -spares 4 x",
		"the job may have 1 restart (": "-spares 2 -on-failure respawn=1 x : y",
	} {
		_, err := parseOptions(strings.Fields(line), none)
		require.ErrorContains(t, err, want)
	}
}

// Spares are placed on the hosts with the most free slots. If there are not enough free slots, dealSpares
// returns an error.
func TestDealSpares(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for line, want := range map[string][]int{
		"-np 4 -host a:2,b:2,c:2 -spares 2":       {0, 0, 2},
		"-np 3 -host a:4,b:3 -spares 3":           {1, 2},
		"-np 2 -host a:2,b,c -spares 2":           {0, 1, 1},
		"-np 2 -host a:2,b,c -spares 3":           nil,
		"-host a:4,b:6 -spares 2 -np 2 y : -np 3": {0, 4},
	} {
		o, err := parseOptions(strings.Fields("-on-failure respawn "+line+" x"), none)
		require.NoError(t, err)
		j := &job{opts: o}
		for range o.size() {
			j.ranks = append(j.ranks, &rank{number: len(j.ranks)})
		}
		j.place()
		if err := j.dealSpares(); want == nil {
			require.ErrorContains(t, err, "besides the ranks, the hosts have free slots for only 2 spares")
			continue
		} else {
			require.NoError(t, err)
		}
		var got []int
		for _, h := range j.hosts {
			got = append(got, h.waiting())
		}
		require.Equal(t, want, got, line)
		for i := range o.apps {
			n := 0
			for _, h := range j.hosts {
				n += h.spares[&o.apps[i]]
			}
			require.Equal(t, o.spares, n, line)
		}
	}
}
