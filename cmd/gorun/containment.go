package main

import (
	"fmt"
	"os"
	"syscall"
)

// containEnv is the environment variable whose value is the name of the containment to use. Without it, gorun
// uses the first containment that works.
const containEnv = "GORUN_CONTAIN"

// Names of the containments, best first.
//
//	cgroup     a cgroup v2 directory of the job's own; cgroup.kill ends all
//	           processes in it at once, even if they have tried to hide.
//	namespace  gorun runs as process 1 of a PID namespace; when it ends, the
//	           kernel kills the other processes of the namespace.
//	scan       gorun is the reaper of orphans. It searches for its children
//	           and for processes with GORUN_AGENT in their environment. A child
//	           of a rank survives a kill -9 of gorun if it was executed with
//	           an environment without GORUN_AGENT.
//
// With each containment, ranks get SIGKILL when gorun ends (Pdeathsig). With cgroup and scan, a watchdog
// (watchdog.go) kills the other processes of the job if gorun is killed.
const (
	containCgroup    = "cgroup"
	containNamespace = "namespace"
	containScan      = "scan"
)

// containment can kill every process that a job starts.
type containment interface {
	// make creates the resources of the containment. Before gorun calls make, it starts the watchdog with the
	// arguments that orders returns, so that the watchdog cleans up whenever gorun is killed.
	make() error
	// name returns one of the names of the containments.
	name() string
	// prepare sets the attributes of a new process so that it starts in the containment.
	prepare(attr *syscall.SysProcAttr)
	// kill kills all processes in the containment. With cgroup and scan, it returns when none remains, or an
	// error if some survive. With namespace, it spares the caller and does not wait until the processes have ended.
	kill() error
	// remove releases the resources of the containment. No process may be in it.
	remove() error
	// orders returns the arguments with which the watchdog does kill and remove if gorun was killed.
	orders() []string
}

// newContainment returns the containment that containEnv names, or the best one. If another gorun in a PID
// namespace has to run the job, it returns outside. inside is true if this gorun is that other gorun.
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
		return outside{}, nil // node.contained falls back to scan
	case containNamespace:
		return outside{}, nil
	case containScan:
		return scan{id: id}, nil
	default:
		return nil, fmt.Errorf("%s=%s: want %s, %s or %s", containEnv, want, containCgroup, containNamespace, containScan)
	}
}

// scan is the containment that finds the processes of the job by their environment and their parent.
type scan struct {
	outside
	id string
}

func (scan) name() string       { return containScan }
func (s scan) orders() []string { return []string{"-job", s.id} }

// kill repeats its search until it finds no process, because a process may fork during a search.
func (s scan) kill() error {
	for range scanRounds {
		pids := nodeProcesses(s.id)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("processes of job %s survive SIGKILL", s.id)
}

// scanRounds is the largest number of searches by kill. A killed process disappears only after a moment. Therefore
// kill may need many searches. Each search is cheap.
const scanRounds = 10000

var _, _, _, _ containment = (*ownCgroup)(nil), outside{}, namespace{}, scan{}

// envAgent is the environment variable whose value identifies the agent that has started a process. The name
// of the job does not identify the agent, because two agents of a job may be on one machine.
const envAgent = "GORUN_AGENT"

// agentVariable returns the environment variable, as NAME=VALUE, of all processes of the node whose ID is id.
func agentVariable(id string) string { return envAgent + "=" + id }
