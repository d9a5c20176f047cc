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
	cpus    []int              // allowed to gorun
	machine []placement.Domain // the same by NUMA nodes
	bind    placement.Kind
	bound   *reservation
	ranks   []*rank // by local number
	contain containment
	scratch string // directory of what was built, "" if nothing was
	dog     *guardian
	exits   chan exit
	// children are the ranks' processes.
	children children
	say      func(format string, args ...any) // prints with -v
}

// newNode makes the part of this machine, without ranks yet.
func newNode(id string, contain containment) (*node, error) {
	cpus, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	machine, err := readMachine(nodeDirectory, cpus)
	return &node{id: id, cpus: cpus, machine: machine, contain: contain, say: func(string, ...any) {}}, err
}

// assign gives the node its ranks, and these their local numbers.
func (n *node) assign(ranks []*rank, bind placement.Kind) {
	n.ranks, n.bind, n.exits = ranks, bind, make(chan exit, len(ranks))
	for i, r := range ranks {
		r.local = i
	}
}

// bindRanks gives each rank its processors. With a core for each, these are processors that
// no other job has bound a rank to, and they are the job's for as long as this process lives.
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

// contained reports, after guard, whether this process runs the ranks. If not, another
// gorun in a PID namespace has run them, and contained returns its exit code. args is the
// command line of that gorun.
func (n *node) contained(args []string) (here bool, code int, err error) {
	if _, ok := n.contain.(outside); !ok {
		return true, 0, nil
	}
	code, err = relaunch(args, n.scratch)
	if err == nil || os.Getenv(containEnv) != "" {
		return false, code, err
	}
	return true, 0, n.fallBack(scan{id: n.id}, err)
}

// guard makes the containment and, if something will be built, the scratch directory. The
// watchdog gets its orders first, so that it removes both in any case.
func (n *node) guard(builds bool) error {
	if _, inside := n.contain.(namespace); inside {
		return nil // the gorun outside has made it
	}
	if builds {
		n.scratch = filepath.Join(os.TempDir(), scratchPrefix+n.id)
	}
	if err := n.startWatchdog(); err != nil {
		return err
	}
	if builds {
		if err := os.Mkdir(n.scratch, 0o700); err != nil {
			return err
		}
	}
	err := n.contain.make()
	if err == nil || os.Getenv(containEnv) != "" {
		return err
	}
	return n.fallBack(outside{}, err)
}

// fallBack takes the next containment after one that does not work.
func (n *node) fallBack(next containment, cause error) error {
	n.say("not contained by %s: %v", n.contain.name(), cause)
	n.contain = next
	if err := n.startWatchdog(); err != nil {
		return err
	}
	return n.contain.make()
}

// startWatchdog starts the watchdog with the orders of the containment, if there are any. A
// watchdog with other orders is dismissed.
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

// cleanUp removes what the job made outside of its processes.
func (n *node) cleanUp() error {
	err := n.contain.remove()
	if _, inside := n.contain.(namespace); inside {
		return err
	}
	if n.scratch != "" {
		err = errors.Join(err, os.RemoveAll(n.scratch))
	}
	if n.dog != nil && err == nil { // else the watchdog tries again
		err = n.dog.dismiss()
	}
	return err
}

// adopt makes this process the reaper of what its ranks leave behind.
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
