package main

import (
	"fmt"
	"os"
	"syscall"
)

// containEnv chooses a containment by name; otherwise the first that works
// is taken.
const containEnv = "GORUN_CONTAIN"

// Names of the containments, best first.
//
//	cgroup     a cgroup v2 directory of the job's own; cgroup.kill ends all
//	           processes in it at once, however they hide.
//	namespace  gorun runs as process 1 of a PID namespace; when it ends, the
//	           kernel kills the rest.
//	scan       gorun is the reaper of orphans, and processes are found by
//	           GORUN_AGENT in their environment or by being its children. A
//	           process that clears its environment outlives kill -9 of gorun.
//
// With each of them ranks get SIGKILL when gorun ends (Pdeathsig), and a
// watchdog (watchdog.go) does the rest if gorun cannot.
const (
	containCgroup    = "cgroup"
	containNamespace = "namespace"
	containScan      = "scan"
)

// containment can kill every process that a job starts.
type containment interface {
	// make creates the resources of the containment. The watchdog has its orders before, so
	// that nothing is left whenever gorun is killed.
	make() error
	// name is one of the names above.
	name() string
	// prepare makes a process start inside.
	prepare(attr *syscall.SysProcAttr)
	// kill kills everything inside and returns when nothing is left.
	kill() error
	// remove frees the resources of the containment; no process is inside.
	remove() error
	// orders are the watchdog's arguments for doing both when gorun cannot.
	orders() []string
}

// newContainment makes the containment asked for by the environment. inside
// says that this gorun is process 1 of its own PID namespace.
func newContainment(id string, inside bool) (containment, error) {
	if inside {
		return namespace{}, nil
	}
	switch want := os.Getenv(containEnv); want {
	case "", containCgroup:
		c, err := newCgroup(id)
		if err == nil {
			return c, nil
		}
		if want == containCgroup {
			return nil, err
		}
		return outside{}, nil // launch falls back to scan
	case containNamespace:
		return outside{}, nil
	case containScan:
		return scan{id: id}, nil
	default:
		return nil, fmt.Errorf("%s=%s: want %s, %s or %s", containEnv, want, containCgroup, containNamespace, containScan)
	}
}

// scan finds processes by their environment and their parent.
type scan struct {
	outside
	id string
}

func (scan) name() string       { return containScan }
func (s scan) orders() []string { return []string{"-job", s.id} }

// kill repeats until a search finds no process: a process may fork during the search.
func (s scan) kill() error {
	for range scanRounds {
		pids := jobProcesses(s.id)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("processes of job %s survive SIGKILL", s.id)
}

// scanRounds bounds the searches for survivors. A killed process disappears a moment later,
// so searches are many and cheap.
const scanRounds = 10000

var _, _, _, _ containment = (*ownCgroup)(nil), outside{}, namespace{}, scan{}

// envAgent names the process that has started a rank. It is not the job's name:
// two agents of a job may be on one machine.
const envAgent = "GORUN_AGENT"

// agentVariable is what the environment of a node's processes holds.
func agentVariable(id string) string { return envAgent + "=" + id }
