package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// node is this machine's part of a job: the processes of its ranks, and their containment.
type node struct {
	id      string             // unique on this machine
	cpus    []int              // processors that gorun may use
	machine []placement.Domain // cpus grouped by NUMA node
	bind    placement.Kind
	bound   *reservation // of the processors to which ranks are bound, nil if bind is not placement.Core
	ranks   []*rank      // by local number
	contain containment
	scratch string // directory for programs that gorun builds or, in an agent, receives with -copy; "" for none
	dog     *guardian
	exits   chan exit
	// children has the processes of the ranks.
	children children
	say      func(format string, args ...any) // prints with -v
}

// newNode returns this machine's part of a job. It has no ranks yet.
func newNode(id string, contain containment) (*node, error) {
	cpus, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	machine, err := readMachine(nodeDirectory, cpus)
	return &node{id: id, cpus: cpus, machine: machine, contain: contain, say: func(string, ...any) {}}, err
}

// assign sets the ranks of the node, and their local numbers.
func (n *node) assign(ranks []*rank, bind placement.Kind) {
	n.ranks, n.bind, n.exits = ranks, bind, make(chan exit, len(ranks))
	for i, r := range ranks {
		r.local = i
	}
}

// bindRanks assigns processors to each rank. With -bind-to core, bindRanks chooses processors to which no other
// job has bound a rank, and reserves them until this process ends. If processors cannot be reserved on this
// machine, bindRanks prints a warning and binds the ranks without a reservation.
func (n *node) bindRanks() error {
	machine := n.machine
	if n.bind == placement.Core {
		r, warning, err := reserve(processorDirectory, n.cpus, len(n.ranks))
		if err != nil {
			return err
		}
		if warning != nil {
			complain("%v", warning)
		}
		n.bound, machine = r, []placement.Domain{{Node: -1, Processors: r.cpus}}
	}
	bindings, err := placement.Bind(n.bind, machine, len(n.ranks))
	for i, b := range bindings {
		n.ranks[i].place, n.ranks[i].cpus = b, b.Processors
	}
	return err
}

// contained returns true if this process has to run the ranks. Otherwise contained has run another gorun in a
// PID namespace, which has run the ranks, and returns the exit code of that gorun. args is the command line
// of the other gorun. If the other gorun was started and its exit code is not known, contained returns an error
// and here is false, because the other gorun may have run the ranks. If the other gorun could not be started and
// containEnv is set, contained also returns an error, and here is false. contained is called after guard.
func (n *node) contained(args []string) (here bool, code int, err error) {
	if _, ok := n.contain.(outside); !ok {
		return true, 0, nil
	}
	code, err = relaunch(args, n.scratch)
	if err == nil || code != 0 || os.Getenv(containEnv) != "" { // if code is not 0, the other gorun was started
		return false, code, err
	}
	return true, 0, n.fallBack(scan{id: n.id}, err)
}

// guard makes the containment and, if builds is true, the scratch directory. It starts the watchdog first, so
// that the watchdog removes both even if gorun is killed in guard.
func (n *node) guard(builds bool) error {
	if _, inside := n.contain.(namespace); inside {
		return nil // the gorun process outside the PID namespace has made both
	}
	if builds {
		n.scratch = filepath.Join(os.TempDir(), scratchPrefix+n.id)
	}
	if err := n.startWatchdog(); err != nil {
		return err
	}
	if builds {
		if err := os.Mkdir(n.scratch, 0o700); err != nil {
			return fmt.Errorf("no directory for the program that gorun builds: %w: set TMPDIR to another directory", err)
		}
	}
	err := n.contain.make()
	if err == nil || os.Getenv(containEnv) != "" {
		return err
	}
	return n.fallBack(outside{}, err)
}

// fallBack replaces a containment that does not work by the next one.
func (n *node) fallBack(next containment, cause error) error {
	n.say("not contained by %s: %v", n.contain.name(), cause)
	n.contain = next
	if err := n.startWatchdog(); err != nil {
		return err
	}
	return n.contain.make()
}

// startWatchdog starts a watchdog that cleans up the containment and the scratch directory, and dismisses the
// watchdog that was started before. If there is nothing to clean up, startWatchdog does nothing.
func (n *node) startWatchdog() error {
	orders := n.contain.orders()
	if n.scratch != "" {
		orders = append(orders, "-scratch", n.scratch)
	}
	if len(orders) == 0 {
		return nil
	}
	old := n.dog
	var err error
	if n.dog, err = startWatchdog(orders); err != nil {
		return err
	}
	if old != nil {
		return old.dismiss()
	}
	return nil
}

// cleanUp removes the containment and the scratch directory, and dismisses the watchdog.
func (n *node) cleanUp() error {
	err := n.contain.remove()
	if _, inside := n.contain.(namespace); inside {
		return err
	}
	if n.scratch != "" {
		err = errors.Join(err, os.RemoveAll(n.scratch))
	}
	if n.dog != nil && err == nil { // after an error, the watchdog tries again
		err = n.dog.dismiss()
	}
	return err
}

// adopt makes this process the parent of the orphans that its ranks leave behind.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	return nil
}

// kill kills every process of the job on this machine at once.
func (n *node) kill() error {
	for _, r := range n.ranks {
		r.signal(unix.SIGKILL)
	}
	return n.contain.kill()
}
