package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

func setPerHost(o *options, _ *app, v string) error {
	n, err := placement.ParsePerHost(v)
	if err == nil {
		err = o.setPolicy(placement.Policy{PerHost: n, ByNode: o.policy.ByNode})
	}
	return err
}

func setMapBy(o *options, _ *app, v string) error {
	p, err := placement.ParsePolicy(v)
	if err == nil {
		err = o.setPolicy(p)
	}
	return err
}

// setPolicy combines the values of -ppn and -map-by.
func (o *options) setPolicy(p placement.Policy) error {
	if p.PerHost > 0 && o.policy.PerHost > 0 && p.PerHost != o.policy.PerHost {
		return fmt.Errorf("%d ranks per host were asked for before", o.policy.PerHost)
	}
	p.PerHost = max(p.PerHost, o.policy.PerHost)
	o.policy = p
	return nil
}

func setBindTo(o *options, _ *app, v string) error {
	return setOneOf(&o.bindTo, placement.Kind(v), placement.None, placement.Core, placement.NUMA)
}

// deal decides how many ranks each program has, and on which host each rank runs. If no hosts were given,
// this machine is the only host.
func (o *options) deal() error {
	slots := []int{1}
	if len(o.hosts) > 0 {
		slots = slots[:0]
		for _, h := range o.hosts {
			slots = append(slots, h.slots)
		}
	}
	if len(o.apps) == 1 && o.apps[0].ranks == 0 {
		o.apps[0].ranks = o.policy.Room(slots)
		if o.policy.PerHost == 0 && o.asked > 0 {
			o.apps[0].ranks = min(o.asked, o.apps[0].ranks)
		}
	}
	for i := range o.apps {
		o.apps[i].ranks = max(1, o.apps[i].ranks)
	}
	n := o.size()
	if n > ranksMax {
		return fmt.Errorf("%d ranks: at most %d", n, ranksMax)
	}
	dealt, err := o.policy.Deal(slots, n)
	if len(o.hosts) > 0 {
		o.dealt = dealt
	}
	return err
}

// nodeDirectory contains a directory for each NUMA node of the machine.
const nodeDirectory = "/sys/devices/system/node"

// readMachine determines which of the processors in cpus belong to each NUMA node of the machine. A kernel without
// NUMA has no directory of nodes.
func readMachine(directory string, cpus []int) ([]placement.Domain, error) {
	// Glob with a pattern for the cpulist files would read the directory of each node, which has
	// hundreds of entries.
	entries, _ := os.ReadDir(directory) // without entries, all processors form one domain
	nodes := map[int][]int{}
	for _, e := range entries {
		digits, is := strings.CutPrefix(e.Name(), "node")
		n, err := strconv.ParseUint(digits, 10, 31)
		if !is || err != nil {
			continue
		}
		number := int(n)
		text, err := os.ReadFile(filepath.Join(directory, e.Name(), "cpulist"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("processors of NUMA node %d: %w", number, err)
		}
		if nodes[number], err = placement.ParseList(string(text)); err != nil {
			return nil, fmt.Errorf("processors of NUMA node %d: %w", number, err)
		}
	}
	return placement.Machine(nodes, cpus), nil
}

// refusedPolicy lets preferMemory print its warning once.
var refusedPolicy sync.Once

// preferMemory makes the calling thread, and the processes that it starts, prefer the memory of a NUMA node.
// If node is -1, they have no preference. The ranks run without the preference if a container forbids the
// system call (seccomp(2)), or if the kernel has no NUMA and lacks the system call. They also run without the
// preference if the kernel returns EINVAL. EINVAL means that the node has no memory, or that the cpuset
// excludes the memory of the node.
func preferMemory(node int) error {
	mode, mask := unix.MPOL_DEFAULT, &unix.CPUSet{}
	if node >= 0 {
		mode = unix.MPOL_PREFERRED
		mask.Set(node)
	}
	err := unix.SetMemPolicy(mode, mask)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || node >= 0 && errors.Is(err, unix.EINVAL) {
		if node >= 0 {
			refusedPolicy.Do(func() {
				complain("-bind-to numa: the memory of the NUMA nodes is not preferred: set_mempolicy: %v", err)
			})
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("prefer the memory of NUMA node %d: set_mempolicy: %w", node, err)
	}
	return nil
}
