package slurm

import (
	_ "embed" // slurm.conf
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// configuration is the text of slurm.conf, with fmt verbs in place of the state directory and of
// the number of the last host.
//
//go:embed slurm.conf
var configuration string

// Cluster is a set of hosts that an instance of Slurm manages. If a method of Cluster cannot do its work, it
// fails the test that started the cluster.
type Cluster struct {
	*nscluster.Cluster
	tb     testing.TB
	config string
}

const (
	// patience is the timeout of Await. It is longer than 30 s, the interval at which Slurm checks
	// the time limits of jobs. No measurement depends on it.
	patience = 90 * time.Second
	// poll is the time between two queries of Slurm, which does not send notifications.
	poll = 20 * time.Millisecond
)

// daemons are the command names of the processes that run on every host, even if no job runs there.
var daemons = []string{"munged", "slurmctld", "slurmscriptd", "slurmd"}

// Start makes count hosts and starts Slurm on them. It skips the test if this machine lacks a program that
// they need.
func Start(tb testing.TB, count int) *Cluster { //nolint:thelper // it is the package's purpose, not a detail of a test
	for tool, from := range map[string]string{"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "srun": "slurm-wlm", "munged": "munge"} {
		if _, err := lookPath(tool); err != nil {
			tb.Skipf("slurm: needs %s (apt-get install %s)", tool, from)
		}
	}
	c := &Cluster{Cluster: nscluster.Start(tb, count), tb: tb}
	dir := tb.TempDir()
	// The daemons and jobs of all users, on every host, must be able to read the directory.
	for name := dir; name != os.TempDir() && name != "/"; name = filepath.Dir(name) {
		c.must(os.Chmod(name, 0o755))
	}
	c.config = filepath.Join(dir, "slurm.conf")
	c.must(os.Mkdir(filepath.Join(dir, "state"), 0o755))
	c.must(os.WriteFile(c.config, fmt.Appendf(nil, configuration, dir, count-1), 0o644))
	key := filepath.Join(dir, "key")
	c.must(os.WriteFile(key, []byte(strings.Repeat("of a test alone ", 64)), 0o600))
	for _, h := range c.Hosts() {
		c.run(h, "sh", "-c", "mkdir -m 755 /run/munge && exec munged --force --key-file="+key+
			" --socket=/run/munge/socket --pid-file=/run/munge/pid --log-file=/run/munge/log --seed-file=/run/munge/seed")
	}
	c.run("h0", "slurmctld", "-c", "-f", c.config)
	for _, h := range c.Hosts() {
		c.run(h, "slurmd", "-f", c.config)
	}
	c.Await("hosts are idle", func() bool {
		out, err := c.Command("sinfo", "-h", "-t", "idle", "-o", "%D").Output()
		return err == nil && strings.TrimSpace(string(out)) == strconv.Itoa(count)
	})
	return c
}

// Command returns an exec.Cmd that runs a command on h0. SLURM_CONF is in its environment, so that Slurm's
// commands find this instance of Slurm.
func (c *Cluster) Command(arg ...string) *exec.Cmd {
	return c.Cluster.Command("h0", append([]string{"env", "SLURM_CONF=" + c.config}, arg...)...)
}

// Processes returns the process IDs of the processes of a host that belong to a job.
func (c *Cluster) Processes(host string) []int {
	c.tb.Helper()
	return slices.DeleteFunc(c.Cluster.Processes(host), func(pid int) bool {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return err != nil || slices.Contains(daemons, strings.TrimSpace(string(comm)))
	})
}

// Empty waits until no job is queued and no host has a process of a job.
func (c *Cluster) Empty() {
	c.tb.Helper()
	c.Await("no job is left", func() bool {
		out, err := c.Command("squeue", "-h").Output()
		return err == nil && len(out) == 0 && !slices.ContainsFunc(c.Hosts(), func(h string) bool { return len(c.Processes(h)) > 0 })
	})
}

// Await polls until the function "is" returns true. It fails the test if that takes longer than patience. what
// describes the condition for the message of the failure.
func (c *Cluster) Await(what string, is func() bool) {
	c.tb.Helper()
	for late := time.Now().Add(patience); !is(); time.Sleep(poll) {
		if time.Now().After(late) {
			state, _ := c.Command("sh", "-c", "sinfo; squeue; ps -ef").CombinedOutput()
			c.tb.Fatalf("slurm: waited %v in vain: %s\n%s", patience, what, state)
		}
	}
}

func (c *Cluster) run(host string, arg ...string) {
	c.tb.Helper()
	if out, err := c.Cluster.Command(host, arg...).CombinedOutput(); err != nil {
		c.tb.Fatalf("slurm: %s: %s: %v\n%s", host, strings.Join(arg, " "), err, out)
	}
}

func (c *Cluster) must(err error) {
	c.tb.Helper()
	if err != nil {
		c.tb.Fatalf("slurm: %v", err)
	}
}

// lookPath finds a tool in /usr/sbin, where daemons are, or in the user's PATH, which does not always contain
// /usr/sbin.
func lookPath(tool string) (string, error) {
	if path, err := exec.LookPath("/usr/sbin/" + tool); err == nil {
		return path, nil
	}
	return exec.LookPath(tool)
}
