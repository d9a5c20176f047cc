package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// gorun doctor without hosts examines this machine, and refuses wrong arguments.
func TestDoctorOfThisMachine(t *testing.T) {
	got := gorun(t, nil, "doctor")
	require.Contains(t, got.out, "  memory        shared memory is made by memfd_create")
	require.Contains(t, got.out, "ok    version       gorun "+gorunVersion(t)+"\n")
	got = gorun(t, nil, "doctor", "-h")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "-rsh CMD")
	for _, args := range [][]string{{"-np", "2"}, {"-rsh"}, {"a:b:c"}} {
		got = gorun(t, nil, append([]string{"doctor"}, args...)...)
		require.Equal(t, 125, got.code, got.err)
		require.Contains(t, got.err, "gorun: doctor: ")
	}
}

// gorun doctor reports for each host whether it reaches the other hosts. It names hosts behind a firewall,
// hosts that do not exist, and different MTUs within one network.
func TestDoctorOfHosts(t *testing.T) {
	t.Parallel() // the test waits most of the time
	c := nscluster.Start(t, 4)
	got := gorun(t, nil, "doctor", "-rsh", c.Rsh(), "-host", "h0,h1", "h2")
	require.Zero(t, got.code, got.out+got.err)
	require.Contains(t, got.out, "h0: ok    network       reaches h1 at 10.77.0.2 and fd77::2, h2 at 10.77.0.3 and fd77::3\n")
	require.Contains(t, got.out, "h2: ok    clock ")

	// h1 sends longer packets than the other hosts, and h3 is behind a firewall.
	require.NoError(t, c.Command("h1", "ip", "link", "set", "eth0", "mtu", "9000").Run())
	c.Lose("h3")
	got = gorun(t, nil, "doctor", "-net", "10.77.0.0/24", "-rsh", c.Rsh(), "h0", "h1", "h2", "h3", "h9")
	require.Equal(t, 1, got.code, got.err)
	for _, want := range []string{
		`(?m)^h0: ok    network       reaches h1 at 10\.77\.0\.2, h2 at 10\.77\.0\.3$`,
		`(?m)^h0: FAIL  network       host h3 cannot be reached: .*: let firewalls pass TCP`,
		`(?m)^h1: warn  MTU           eth0 is 9000 here and 1500 on host h0, in one network \(10\.77\.0\.0/24\): `,
		`(?m)^h9: FAIL  reach         it cannot be reached: .*: try by hand: .*/rsh h9 .* -version$`,
		`(?m)^h3: ok    version`,
	} {
		require.Regexp(t, want, got.out)
	}
	empty(t, c)
}

// gorun doctor quotes the words of the command with which the user can test by hand whether a host is reachable, so
// that a shell runs the same command as gorun.
func TestDoctorQuotesTheCommandToTry(t *testing.T) {
	got := gorun(t, nil, "doctor", "-rsh", `sh -c 'exit 3' "it's"`, "-agent-path", "/a b/gorun", "h1")
	require.Equal(t, 1, got.code, got.err)
	require.Contains(t, got.out, `: try by hand: sh -c 'exit 3' 'it'\''s' h1 ''\''/a b/gorun'\''' -version`+"\n")
}

// srunScript simulates srun. It fails if its environment has SLURM_LABELIO, which changes a default of srun.
const srunScript = `#!/bin/sh
[ -z "$SLURM_LABELIO" ] || { echo "SLURM_LABELIO=$SLURM_LABELIO" >&2; exit 9; }
while :; do case $1 in -*) shift ;; *) exec "$@" ;; esac; done
`

// gorun doctor reaches the hosts of an allocation in the same way as a job. It hides SLURM_LABELIO from srun,
// as a job does.
func TestDoctorInSlurm(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "srun"), []byte(srunScript), 0o755))
	env := []string{
		"PATH=" + dir + ":" + os.Getenv("PATH"), "SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n1",
		"SLURM_TASKS_PER_NODE=1", "SLURM_LABELIO=1",
	}
	r := command(t, env, "doctor")
	require.NoError(t, r.Start())
	r.wait(t) // the code depends on this machine
	require.Contains(t, r.out.String(), "n1: ok    version       gorun ")
}
