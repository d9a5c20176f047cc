package main_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// With -on-failure respawn, a rank that ends in a pod starts again in the same pod.
func TestPodsStartARankAgain(t *testing.T) {
	p := podsOf(t, 2, "-np", "4", "-ppn", "2", "-on-failure", "respawn", "prog", helperPrefix+"generations", "2", "0:3", "1:0")
	other := p.start(t, 1)
	root := p.start(t, 0).end(t)
	require.Zero(t, root.code, root.err)
	require.Zero(t, other.end(t).code)
	require.Contains(t, root.err, "gorun: rank 3 (host "+p.name+"-1, pid ")
	for rank := range 4 {
		require.Contains(t, root.out, fmt.Sprintf("generation 2: rank %d on %s-%d, node %[3]d of 2\n", rank, p.name, rank/2))
	}
	empty(t, p.Cluster)
}

// The ranks of a lost pod start again in another pod with room, in spare processes that wait there.
func TestPodsWithRoom(t *testing.T) {
	p := podsOf(t, 3, "-np", "4", "-ppn", "2", "-on-failure", "respawn", "-spares", "2", "prog", helperPrefix+"generations", "1")
	root, lost, roomy := p.start(t, 0), p.start(t, 1), p.start(t, 2)
	for range 4 {
		said(t, root.stdout, "generation 0: rank ")
	}
	require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGKILL))
	require.NotZero(t, lost.end(t).code)
	got := root.end(t)
	require.Zero(t, got.code, got.err)
	require.Zero(t, roomy.end(t).code)
	require.Contains(t, got.err, fmt.Sprintf("host %[1]s-1 is lost with ranks 2-3: the connection ended; they are started again on %[1]s-2 (1 of 3)", p.name))
	for rank, pod := range []int{0, 0, 2, 2} {
		require.Contains(t, got.out, fmt.Sprintf("generation 1: rank %d on %s-%d, node %d of 2\n", rank, p.name, pod, pod/2))
	}
	empty(t, p.Cluster)
}

// If no other pod has room, the ranks of a lost pod wait until the platform has started the pod again. Then
// they start in that pod.
func TestPodsComeAgain(t *testing.T) {
	p := podsOf(t, 2, "-np", "4", "-ppn", "2", "-on-failure", "respawn", "prog", helperPrefix+"generations", "5", "4:1")
	root, other := p.start(t, 0), p.start(t, 1)
	for times := range 2 {
		for range 4 { // in odd generations the survivors wait for the pod
			said(t, root.stdout, fmt.Sprintf("generation %d: rank ", 2*times))
		}
		require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGKILL))
		require.NotZero(t, other.end(t).code)
		said(t, root.stderr, fmt.Sprintf("host %s-1 is lost with ranks 2-3: the connection ended; no pod has room: they are started again when a pod with room connects; if none does within 10m0s", p.name))
		other = p.start(t, 1)
		said(t, root.stderr, fmt.Sprintf("%s-1 has connected again; they are started again (%d of 3)", p.name, times+1))
	}
	got := root.end(t)
	require.Zero(t, got.code, got.err)
	require.Zero(t, other.end(t).code)
	require.Contains(t, got.err, "gorun: rank 1 (host "+p.name+"-0, pid ")
	for rank := range 4 {
		require.Contains(t, got.out, fmt.Sprintf("generation 5: rank %d on %s-%d, node %[3]d of 2\n", rank, p.name, rank/2))
	}
	empty(t, p.Cluster)
}

// gorun waits for a lost pod for the time of -answer-within, or until a signal ends the job.
func TestPodsThatDoNotComeAgain(t *testing.T) {
	for name, within := range map[string]string{"time": "5s", "interrupt": "10m"} {
		t.Run(name, func(t *testing.T) {
			p := podsOf(t, 2, "-np", "2", "-on-failure", "respawn", "-answer-within", within, "prog", helperPrefix+"generations", "1")
			root, other := p.start(t, 0), p.start(t, 1)
			for range 2 {
				said(t, root.stdout, "generation 0: rank ")
			}
			require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGKILL))
			require.NotZero(t, other.end(t).code)
			said(t, root.stderr, "; no pod has room: it is started again when a pod with room connects; if none does within ")
			want, code := "it is not started again: no pod with room has connected within 5s", 125
			if name == "interrupt" {
				require.NoError(t, unix.Kill(p.first(t, 0), unix.SIGTERM))
				want, code = "interrupted by SIGTERM", 143
			}
			got := root.end(t)
			require.Equal(t, code, got.code, got.err)
			require.Contains(t, got.err, want)
			empty(t, p.Cluster)
		})
	}
}

// If a pod connects again before gorun has noticed the loss of its earlier connection, the new connection
// takes the place of the earlier one.
func TestPodsThatComeTwice(t *testing.T) {
	p := podsOf(t, 2, "-np", "2", "-on-failure", "respawn", "prog", helperPrefix+"generations", "2")
	root, before := p.start(t, 0), p.start(t, 1)
	for range 2 {
		said(t, root.stdout, "generation 0: rank ")
	}
	again := p.start(t, 1)
	require.NotZero(t, before.end(t).code)
	got := root.end(t)
	require.Zero(t, got.code, got.err)
	require.Zero(t, again.end(t).code)
	require.Contains(t, got.err, "-1 is lost with rank 1: its pod was started again; no pod has room")
	require.Contains(t, got.err, "-1 has connected again; it is started again (1 of 3)")
	empty(t, p.Cluster)
}

// The function that is passed to World.Resume begins again after a lost pod was started again.
func TestPodsResume(t *testing.T) {
	p := podsOf(t, 2, "-np", "4", "-ppn", "2", "-on-failure", "respawn", "prog", "-pause", "1", "-cut")
	p.program = launch.Build(t, "survive", launch.Module+"/bench/survive")
	root, other := p.start(t, 0), p.start(t, 1)
	said(t, root.stdout, "cut")
	require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGKILL))
	require.NotZero(t, other.end(t).code)
	other = p.start(t, 1)
	got := root.end(t)
	require.Zero(t, got.code, got.err)
	require.Zero(t, other.end(t).code)
	require.Contains(t, got.out, "1 losses of 4 ranks: pause of the slowest survivor: ")
	empty(t, p.Cluster)
}

// A pod that gets SIGTERM, as in an eviction, leaves the job at once. Its ranks start in another pod.
func TestPodsThatAreEvicted(t *testing.T) {
	p := podsOf(t, 3, "-np", "2", "-on-failure", "respawn", "-spares", "1", "prog", helperPrefix+"generations", "1")
	root, evicted, roomy := p.start(t, 0), p.start(t, 1), p.start(t, 2)
	for range 2 {
		said(t, root.stdout, "generation 0: rank ")
	}
	require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGTERM))
	require.Equal(t, 143, evicted.end(t).code, "the exit code that the manifest does not count as a failure of the job")
	got := root.end(t)
	require.Zero(t, got.code, got.err)
	require.Zero(t, roomy.end(t).code)
	require.Regexp(t, `-1 is lost with rank 1: [^;]*connection[^;]*; it is started again on `+p.name+`-2 \(1 of 3\)`, got.err)
	empty(t, p.Cluster)
}
