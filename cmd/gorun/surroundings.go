package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/allocation"
)

// shownHostsMax is the largest number of hosts that a message about an allocation or about pods names.
const shownHostsMax = 4

// findHosts sets the hosts to those that a scheduler has given to this job, and describes the allocation in
// o.took. It does nothing if the command line names hosts.
func (o *options) findHosts(getenv func(string) string) error {
	if len(o.hosts) > 0 {
		return nil
	}
	if f, found := bootstrap.FindForeign(getenv); found && !f.Pods {
		return fmt.Errorf("%s has started gorun %d times, and each would start the whole job: run gorun once, or the program itself by %s; -host localhost runs a job in each process",
			f.Launcher, f.Size, f.Launcher)
	}
	a, err := allocation.Find(getenv)
	if a == nil || err != nil {
		return err
	}
	if a.Pods != nil && getenv(bootstrap.EnvRank) != "" {
		return nil // a rank has started this gorun, and no pod listens for its agents
	}
	if a.Ask != nil {
		if err := ask(a); err != nil {
			return err
		}
	}
	add := func() error { return o.addAllocation(a) }
	if a.Pods != nil {
		add = func() error { return o.takePods(a.Pods) }
	}
	if err := add(); err != nil {
		return fmt.Errorf("%s, which %s names: %w (-host and -hostfile name other hosts)", a.Source, a.From, err)
	}
	o.asked = a.Ranks
	if o.rsh == nil && a.Remote != nil {
		if _, err := exec.LookPath(a.Remote[0]); err != nil {
			return fmt.Errorf("%s: its hosts are reached by %s, which is not in PATH: %w; -rsh names another command", a.Source, a.Remote[0], errors.Unwrap(err))
		}
		o.rsh, o.hidden = a.Remote, a.Hidden
		o.groups = map[string]string{}
		for _, h := range a.Hosts {
			o.groups[h.Name] = h.Group
		}
	}
	if o.rsh == nil && len(a.Args) > 0 {
		o.rsh = slices.Concat(rshDefault, a.Args)
	}
	by := "start by " + rshDefault[0]
	if o.rsh != nil {
		by = "start by " + o.rsh[0]
	}
	if a.Pods != nil {
		by = "connect to this one"
	}
	ranks := ""
	if a.Ranks > 0 && a.Ranks < o.hosts.slots() {
		ranks = counted(a.Ranks, "rank") + " for "
	}
	o.took = fmt.Sprintf("taking %s (%s): %s%s on %s; agents %s", a.Source, a.From, ranks, counted(o.hosts.slots(), "slot"), o.hosts, by)
	return nil
}

// ask runs the scheduler's command that prints the hosts of an allocation. The command does not print the
// number of ranks for each host. Therefore ask uses the number of processors of this host for all hosts.
func ask(a *allocation.Allocation) error {
	cpus, err := allowedCPUs()
	if err != nil {
		return err
	}
	out, err := exec.Command(a.Ask[0], a.Ask[1:]...).Output()
	if err != nil {
		why := ""
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			why = ": " + strings.TrimSpace(string(e.Stderr))
		}
		return fmt.Errorf("%s (%s): %s: %w%s; -host localhost runs on this machine alone", a.Source, a.From, strings.Join(a.Ask, " "), err, why)
	}
	return a.Answer(strings.TrimSpace(string(out)), len(cpus))
}

// addAllocation adds the hosts of an allocation to the options.
func (o *options) addAllocation(a *allocation.Allocation) error {
	if a.File != "" {
		l, err := readHostFile(a.File)
		return o.addHosts(l, err)
	}
	var l hostList
	for _, h := range a.Hosts {
		if err := checkHostName(h.Name); err != nil {
			return err
		}
		l = l.add(hostSlots{name: h.Name, slots: h.Slots})
	}
	return o.addHosts(l, nil)
}

// String returns the number of hosts and the names of the first ones.
func (l hostList) String() string {
	names := make([]string, 0, shownHostsMax)
	for _, h := range l[:min(len(l), shownHostsMax)] {
		names = append(names, fmt.Sprintf("%s:%d", h.name, h.slots))
	}
	text := counted(len(l), "host") + ", " + strings.Join(names, " ")
	if len(l) > shownHostsMax {
		text += " ..."
	}
	return text
}
