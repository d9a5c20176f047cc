package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func someJob() bootstrap.Job {
	return bootstrap.Job{
		Rank: 5, Size: 8, LocalRank: 1, LocalSize: 4, NodeRank: 1, Nodes: 2, Epoch: 3, ID: "77-ab",
		Node: bootstrap.NodeID{1, 2, 15: 255}, Host: "h1", Processors: 2, OnFailure: bootstrap.OnFailureContinue, NodeRange: 1 << 35,
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

func TestJobEnvironmentRoundTrip(t *testing.T) {
	j, err := bootstrap.ParseJob(lookup(someJob().Environ()))
	require.NoError(t, err)
	require.Equal(t, someJob(), j)
}

func TestJobEnvironmentErrors(t *testing.T) {
	for _, bad := range []string{
		"GORUN_RANK=8", "GORUN_RANK=-1", "GORUN_RANK=", "GORUN_RANK=five", "GORUN_SIZE=0", "GORUN_SIZE=99999999999",
		"GORUN_LOCAL_RANK=4", "GORUN_LOCAL_SIZE=0", "GORUN_NODE_RANK=2", "GORUN_NODES=0", "GORUN_EPOCH=-1",
		"GORUN_PROCESSORS=0", "GORUN_ON_FAILURE=panic", "GORUN_NODE_RANGE=3", "GORUN_NODE_RANGE=-4",
		"GORUN_NODE_ID=00", "GORUN_NODE_ID=" + strings.Repeat("g", 32), "GORUN_NODE_ID=" + strings.Repeat("a", 34), "GORUN_JOB=",
	} {
		env := append([]string{bad}, someJob().Environ()...)
		_, err := bootstrap.ParseJob(lookup(env))
		name, _, _ := strings.Cut(bad, "=")
		require.ErrorContains(t, err, name, bad)
	}
}

func TestDescriptors(t *testing.T) {
	socket, memory, secret, err := bootstrap.ParseFDs("5,3,4")
	require.NoError(t, err)
	require.Equal(t, []int{5, 3, 4}, []int{socket, memory, secret})
	for _, bad := range []string{"", "3", "3,4", "3,4,5,6", "2,3,4", "3,3,4", "3,4,3", "a,b,c", "3,4,-1", "3,4,99999999"} {
		_, _, _, err := bootstrap.ParseFDs(bad)
		require.ErrorContains(t, err, bootstrap.EnvFDs, bad)
	}
}
