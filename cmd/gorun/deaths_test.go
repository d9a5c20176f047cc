package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// death is an event that ends a job on hosts h1 and victim, with two ranks on each. The comments in allDeaths
// say what Open MPI 4.1.4, MPICH 4.0.2 and Slurm 22.05 do after the same event. After many of the events, these
// launchers leave processes on hosts or wait forever.
type death struct {
	victim string
	ssh    string   // the host on which gorun runs and uses ssh; "": gorun runs outside of the hosts and reaches them without a network
	flags  []string // additional flags of gorun
	script string   // the program of the ranks; if it is "", the ranks run the script in the constant waits
	strike func(c *nscluster.Cluster, r *run) error
	code   int
	says   []string // regular expressions that gorun's standard error matches
	mend   func(c *nscluster.Cluster)
}

// killOne kills one process of a run on a host, a process whose command line contains word.
func killOne(c *nscluster.Cluster, r *run, host, word string) error {
	there := c.Processes(host)
	for _, pid := range launch.Marked(r.mark) {
		if slices.Contains(there, pid) && strings.Contains(commandLine(pid), word) {
			return unix.Kill(pid, unix.SIGKILL)
		}
	}
	return fmt.Errorf("no process %s on %s", word, host)
}

const (
	// waits is the script of a rank that waits with two children. One of the children is in another session.
	waits = "sleep 1000 & setsid sleep 1000 & echo ready; wait"
	// lostInSilence is gorun's message for a host from which no frames arrive any more.
	lostInSilence = ` is lost with ranks 2-3: it has been silent for 4.75s: the host or the network is down`
)

// allDeaths has the deaths by name.
var allDeaths = map[string]death{
	// MPICH and Slurm let the other ranks continue.
	"a rank exits": {
		victim: "h2", script: "[ $GORUN_RANK = 3 ] && exit 7; sleep 1000 & wait", code: 7,
		says: []string{`first failure: rank 3 \(sh, host h2, pid \d+\) exited with code 7`},
	},
	// MPICH exits with code 11.
	"a rank is shot by the system": {
		victim: "h2", script: "[ $GORUN_RANK = 3 ] && kill -SEGV $$; sleep 1000 & wait", code: 139,
		says: []string{`first failure: rank 3 \(sh, host h2, pid \d+\) was killed by SIGSEGV`},
	},
	// Open MPI leaves the children of the rank running. MPICH waits for them.
	"kill -9 of a rank": {
		victim: "h2", code: 137,
		strike: func(c *nscluster.Cluster, r *run) error { return killOne(c, r, "h2", waits) },
		says:   []string{`first failure: rank [23] \(sh, host h2, pid \d+\) was killed by SIGKILL`},
	},
	// Open MPI leaves the ranks of that host running.
	"kill -9 of an agent": {
		victim: "h2", code: 125,
		strike: func(c *nscluster.Cluster, r *run) error { return killOne(c, r, "h2", "-gorun-agent") },
		says:   []string{`host h2 is lost with ranks 2-3: the connection ended`},
	},
	"kill -9 of gorun": {
		victim: "h2", code: 137,
		strike: func(_ *nscluster.Cluster, r *run) error { return r.Process.Kill() },
	},
	"SIGTERM": {
		victim: "h2", code: 143,
		strike: func(_ *nscluster.Cluster, r *run) error { return r.Process.Signal(unix.SIGTERM) },
	},
	// MPICH still runs 15 s later.
	"SIGINT": {
		victim: "h2", code: 130, flags: []string{"-grace", "10ms"}, // a shell that was started with SIGINT ignored ends only when gorun kills it
		strike: func(_ *nscluster.Cluster, r *run) error { return r.Process.Signal(unix.SIGINT) },
	},
	"timeout": {victim: "h2", flags: []string{"-timeout", "300ms", "-grace", "10ms"}, code: 124, says: []string{`the job was ended after 300ms`}},
	// MPICH's mpiexec had not ended after 18 minutes.
	"standard input": {victim: "h2", script: "cat; exit 5", code: 5},
	"a host is unreachable": {
		victim: "h9", ssh: "h0", code: 125,
		says: []string{`host h9: it cannot be reached: `, `Could not resolve hostname h9`, `try by hand: `},
	},
	"the program is missing on a host": {
		victim: "h2", ssh: "h0", script: missing, code: 127,
		says: []string{`host h2: start /run/prog: `},
	},
	// Open MPI and MPICH had not noticed the loss after 35 s.
	"the link is cut": {
		victim: "h3", ssh: "h0", code: 125, says: []string{`host h3` + lostInSilence},
		strike: func(c *nscluster.Cluster, _ *run) error { c.Cut("h3"); return nil },
	},
	"the link loses everything": {
		victim: "h4", ssh: "h0", code: 125, says: []string{`host h4` + lostInSilence},
		strike: func(c *nscluster.Cluster, _ *run) error { c.Lose("h4"); return nil },
	},
	"a host is frozen": {
		victim: "h5", ssh: "h0", code: 125, says: []string{`host h5` + lostInSilence},
		strike: func(c *nscluster.Cluster, _ *run) error { c.Freeze("h5"); return nil },
		mend:   func(c *nscluster.Cluster) { c.Thaw("h5") },
	},
	"the power of a host fails": {
		victim: "h6", ssh: "h0", code: 125, says: []string{`host h6` + lostInSilence},
		strike: func(c *nscluster.Cluster, _ *run) error {
			c.Lose("h6") // no packet of the host's sockets leaves the host
			c.Kill("h6")
			return nil
		},
	},
	"the power of gorun's host fails": {
		victim: "h2", ssh: "h7", code: 137,
		strike: func(c *nscluster.Cluster, _ *run) error {
			c.Lose("h7")
			c.Kill("h7")
			return nil
		},
	},
}

// missing is a program that exists only on hosts h0 and h1.
const missing = "/run/prog"

// TestLifeAndDeath ends jobs by each death of allDeaths. It checks that no process of the job is left on a
// host that still runs, and that gorun names the host and the cause. Most jobs run at the same time. In long
// runs (soak), each job runs alone and must end within 10 s.
func TestLifeAndDeath(t *testing.T) {
	t.Parallel() // the test waits most of the time
	c := nscluster.StartSSH(t, 8)
	for _, h := range []string{"h0", "h1"} {
		require.NoError(t, c.Command(h, "cp", "/bin/sleep", missing).Run())
	}
	ends := map[string]func(t *testing.T){}
	for name, d := range allDeaths {
		r := d.job(t, c)
		struck := time.Now()
		ends[name] = func(t *testing.T) { d.check(t, c, r) } //nolint:thelper // it is the test
		if soak {
			t.Run(name, ends[name])
			delete(ends, name)
			require.Less(t, time.Since(struck), 10*time.Second, name)
		}
	}
	for name, end := range ends {
		t.Run(name, end)
	}
	empty(t, c)
}

// job starts a job and causes its death.
func (d *death) job(t *testing.T, c *nscluster.Cluster) *run {
	t.Helper()
	args := append([]string{"-host", "h1:2," + d.victim + ":2"}, d.flags...)
	switch d.script {
	case "":
		args = append(args, "sh", "-c", waits)
	case missing:
		args = append(args, missing, "1000")
	default:
		args = append(args, "sh", "-c", d.script)
	}
	r := command(t, nil, append([]string{"-rsh", c.Rsh()}, args...)...)
	if d.ssh != "" {
		r = onHost(t, c, d.ssh, append([]string{"-rsh", c.SSH()}, args...)...)
	}
	r.Stdin = strings.NewReader("")
	if d.strike == nil {
		require.NoError(t, r.Start())
		return r
	}
	out := r.lines(t)
	require.NoError(t, r.Start())
	awaitLines(t, out, 4, "ready")
	require.NoError(t, d.strike(c, r))
	return r
}

// check checks how the job ended.
func (d *death) check(t *testing.T, c *nscluster.Cluster, r *run) {
	t.Helper()
	require.Equal(t, d.code, r.wait(t), r.err.String())
	for _, says := range d.says {
		require.Regexp(t, says, r.err.String())
	}
	if d.mend != nil {
		d.mend(c)
	}
	gone(t, r)
}
