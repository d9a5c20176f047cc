package bootstrap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func someJob() bootstrap.Job {
	return bootstrap.Job{
		Rank: 5, Size: 8, LocalRank: 1, LocalSize: 4, NodeRank: 1, Nodes: 2, Epoch: 3, ID: "77-ab",
		Node: bootstrap.NodeID{1, 2, 15: 255}, Host: "h1", Peers: []int{0, 5, 6, 7}, Processors: 2, OnFailure: bootstrap.OnFailureContinue, NodeRange: 1 << 35,
	}
}

func lookup(env []string) func(string) string {
	return func(name string) string {
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// ParseJob returns the job whose variables Environ has returned.
func TestJobEnvironmentRoundTrip(t *testing.T) {
	j, err := bootstrap.ParseJob(lookup(someJob().Environ()))
	require.NoError(t, err)
	require.Equal(t, someJob(), j)
}

// ParseJob refuses each variable with a wrong value, and its error names the variable.
func TestJobEnvironmentErrors(t *testing.T) {
	for _, bad := range []string{
		"GORUN_RANK=8", "GORUN_RANK=-1", "GORUN_RANK=", "GORUN_RANK=five", "GORUN_SIZE=0", "GORUN_SIZE=99999999999",
		"GORUN_LOCAL_RANK=4", "GORUN_LOCAL_SIZE=0", "GORUN_NODE_RANK=2", "GORUN_NODES=0", "GORUN_EPOCH=-1",
		"GORUN_PROCESSORS=0", "GORUN_ON_FAILURE=panic", "GORUN_NODE_RANGE=3", "GORUN_NODE_RANGE=-4",
		"GORUN_PEERS=0-3", "GORUN_PEERS=0,5-6", "GORUN_PEERS=0,5-8", "GORUN_PEERS=0,5,5,7", "GORUN_PEERS=0,7-5", "GORUN_PEERS=0,5,6,7,",
		"GORUN_PEERS=x", "GORUN_PEERS=-1,5,6,7", "GORUN_PEERS=0-99999999999", "GORUN_PEERS=0,5,6,8", "GORUN_PEERS=0,5-6-7",
		"GORUN_NODE_ID=00", "GORUN_NODE_ID=" + strings.Repeat("g", 32), "GORUN_NODE_ID=" + strings.Repeat("a", 34), "GORUN_JOB=",
	} {
		env := append([]string{bad}, someJob().Environ()...)
		_, err := bootstrap.ParseJob(lookup(env))
		name, _, _ := strings.Cut(bad, "=")
		require.ErrorContains(t, err, name, bad)
	}
}

// Environ writes the ranks of a node as ranges, from which ParseJob returns the same ranks.
func TestPeersOfAJobRoundTrip(t *testing.T) {
	for text, peers := range map[string][]int{"": nil, "5": {5}, "4-5": {4, 5}, "1,5": {1, 5}, "0-1,5-7": {0, 1, 5, 6, 7}} {
		j := someJob()
		j.Peers, j.LocalSize = peers, max(1, len(peers))
		j.LocalRank = max(0, slices.Index(peers, j.Rank))
		env := j.Environ()
		require.Contains(t, env, "GORUN_PEERS="+text)
		got, err := bootstrap.ParseJob(lookup(env))
		require.NoError(t, err)
		require.Equal(t, j, got)
	}
}

// FuzzPeers checks that ParseRanks returns an error, nil, or the expected number of ascending ranks. The
// ranks must be the same after FormatRanks and ParseRanks.
func FuzzPeers(f *testing.F) {
	for _, s := range []string{"0-3,8", "5", "", "0,1,2", "1-", "-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := bootstrap.ParseRanks(text, 3, 100)
		if err != nil || got == nil {
			return
		}
		require.Len(t, got, 3)
		require.IsIncreasing(t, got)
		again, err := bootstrap.ParseRanks(bootstrap.FormatRanks(got), 3, 100)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

// The list of inherited descriptors must name three different descriptors, none of which is a standard
// stream. The error for any other list names the variable.
func TestDescriptors(t *testing.T) {
	socket, memory, secret, err := bootstrap.ParseFDs("5,3,4")
	require.NoError(t, err)
	require.Equal(t, []int{5, 3, 4}, []int{socket, memory, secret})
	for _, bad := range []string{"", "3", "3,4", "3,4,5,6", "2,3,4", "3,3,4", "3,4,3", "a,b,c", "3,4,-1", "3,4,99999999"} {
		_, _, _, err := bootstrap.ParseFDs(bad)
		require.ErrorContains(t, err, bootstrap.EnvFDs, bad)
	}
}

// FuzzJob checks that ParseJob returns an error or a consistent job, which is the same after Environ and
// ParseJob.
func FuzzJob(f *testing.F) {
	whole := strings.Join(someJob().Environ(), "\n")
	for n := 0; n <= len(whole); n += 7 {
		f.Add(whole[:n])
	}
	f.Add(whole)
	for _, bad := range []string{"GORUN_NODE_RANGE=3", "GORUN_PEERS=0-99999999999", "GORUN_SIZE=-1", "GORUN_NODE_ID=\xff"} {
		f.Add(bad + "\n" + whole)
	}
	f.Fuzz(func(t *testing.T, text string) {
		j, err := bootstrap.ParseJob(lookup(strings.Split(text, "\n")))
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, j.Rank, 0)
		require.Less(t, j.Rank, j.Size)
		require.Less(t, j.LocalRank, j.LocalSize)
		require.Less(t, j.NodeRank, j.Nodes)
		if j.Peers != nil {
			require.Len(t, j.Peers, j.LocalSize)
			require.Equal(t, j.Rank, j.Peers[j.LocalRank])
		}
		again, err := bootstrap.ParseJob(lookup(j.Environ()))
		require.NoError(t, err)
		require.Equal(t, j, again)
	})
}

// FuzzDescriptors checks that a list of descriptors is refused or names three different descriptors, none of
// which is a standard stream.
func FuzzDescriptors(f *testing.F) {
	for _, text := range []string{"5,3,4", "3,4", "3,3,4", "3,4,5,6", "-1,3,4", "+3,4,5", "3,4,99999999999999999999", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		socket, memory, secret, err := bootstrap.ParseFDs(text)
		if err != nil {
			require.ErrorContains(t, err, bootstrap.EnvFDs)
			return
		}
		fds := []int{socket, memory, secret}
		slices.Sort(fds)
		require.Greater(t, fds[0], 2, "not a standard stream")
		require.Len(t, slices.Compact(fds), 3, "each once")
	})
}

// FormatRanks writes consecutive ranks as a range. NameRanks puts the word "rank" or "ranks" before them.
func TestFormatRanks(t *testing.T) {
	for want, ranks := range map[string][]int{"": nil, "3": {3}, "0-1": {0, 1}, "0,2-4,9": {0, 2, 3, 4, 9}} {
		require.Equal(t, want, bootstrap.FormatRanks(ranks))
	}
	require.Equal(t, "rank 3", bootstrap.NameRanks([]int{3}))
	require.Equal(t, "ranks 0-1", bootstrap.NameRanks([]int{0, 1}))
}
