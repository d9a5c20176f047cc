package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fluxScript simulates the command flux with two brokers on this machine. Only processes outside of the brokers may use
// it.
const fluxScript = `#!/bin/sh
case "$1 $2" in
"getattr hostlist") [ -z "$TEST_FLUX" ] || { echo "flux: $TEST_FLUX" >&2; exit 1; }; echo "n[1-2]" ;;
"exec --rank=0" | "exec --rank=1") [ -z "$GORUN_HOSTID" ] || exit 9; export GORUN_HOSTID=$2; shift 2; exec "$@" ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
`

// In an instance of Flux, gorun asks flux for the hosts and itself starts all agents by flux
// exec. The error names the cause if flux fails or is missing.
func TestHostsOfAnInstanceOfFlux(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flux"), []byte(fluxScript), 0o755))
	env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "FLUX_URI=local:///nowhere", "GORUN_RADIX=1"}
	r := command(t, env, helper([]string{"-l", "-ppn", "2"}, "book")...)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	require.Contains(t, r.err.String(), "gorun: taking the instance of Flux (FLUX_URI, flux getattr hostlist): ")
	require.Contains(t, r.err.String(), "slots on 2 hosts, n1:")
	for rank := range 4 {
		require.Contains(t, r.out.String(), fmt.Sprintf("[%d] n10=0 n11=0 n20=1 n21=1\n", rank))
	}
	for why, more := range map[string][]string{
		"no broker":         {"TEST_FLUX=no broker"},
		"not found in $PA":  {"PATH=" + t.TempDir()},
		"-host localhost r": {"TEST_FLUX=x"},
	} {
		r = command(t, append(env, more...), "true")
		require.NoError(t, r.Start())
		require.Equal(t, 125, r.wait(t))
		require.Contains(t, r.err.String(), why)
	}
}

// Ranks that flux run starts in a real instance of two brokers form one world.
func TestFluxStart(t *testing.T) {
	if _, err := exec.LookPath("flux"); err != nil {
		t.Skip("needs flux (flux-core, which Debian 12 does not have)")
	}
	r := command(t, nil)
	path, err := exec.LookPath("flux")
	require.NoError(t, err)
	r.Path, r.Args = path, append([]string{"flux", "start", "-s2", "flux", "run", "-n4"}, helper(nil, "join")...)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	require.Equal(t, 4, strings.Count(r.out.String(), " of 4\n"), r.out.String())
}

// In the launcher of an MPIJob, gorun reads the host file for Open MPI, MPICH or Intel MPI. Each of these host
// files has a syntax of its own. gorun also uses the arguments for ssh that the MPI Operator passes.
func TestHostFilesOfTheMPIOperator(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte(`#!/bin/sh
while :; do case $1 in -o) echo "option $2" >>"$TEST_LOG"; shift 2 ;; -*) shift ;; *) break ;; esac; done
export GORUN_HOSTID=$1
shift
exec "$@"
`), 0o755))
	for variable, text := range map[string]string{
		"OMPI_MCA_orte_default_hostfile": "w-0.w.ns.svc slots=2\nw-1.w.ns.svc slots=1\n",
		"HYDRA_HOST_FILE":                "w-0.w.ns.svc:2\nw-1.w.ns.svc:1\n",
		"I_MPI_HYDRA_HOST_FILE":          "w-0.w.ns.svc:2\nw-1.w.ns.svc:1\n",
	} {
		list, log := filepath.Join(dir, variable), filepath.Join(dir, variable+".log")
		require.NoError(t, os.WriteFile(list, []byte(text), 0o644))
		r := command(t, []string{
			"PATH=" + dir + ":" + os.Getenv("PATH"), "TEST_LOG=" + log, "K_MPI_JOB_ROLE=launcher",
			variable + "=" + list, "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10",
		}, helper(nil, "book")...)
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t), r.err.String())
		require.Contains(t, r.err.String(), "taking the list of hosts "+list+" ("+variable+"): 3 slots on 2 hosts, w-0.w.ns.svc:2 w-1.w.ns.svc:1; agents start by ssh\n")
		require.Equal(t, strings.Repeat("w-0.w.ns.svc0=0 w-0.w.ns.svc1=0 w-1.w.ns.svc0=1\n", 3), r.out.String())
		require.Equal(t, strings.Repeat("option ConnectionAttempts=10\n", 2), content(log))
	}
}

// If a rank in a pod starts a gorun, this inner gorun runs its job only in the same pod, because the other pods
// still belong to the outer job.
func TestGorunOfARankInAPod(t *testing.T) {
	env := []string{"GORUN_PODS=2", "JOB_COMPLETION_INDEX=1", "GORUN_POD_ROOT=127.0.0.1:1", "GORUN_RANK=1"}
	r := command(t, env, helper([]string{"-np", "2"}, "join")...)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	require.Equal(t, 2, strings.Count(r.out.String(), " of 2\n"), r.out.String())
}
