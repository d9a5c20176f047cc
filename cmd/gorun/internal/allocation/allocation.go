package allocation

import (
	"errors"
	"fmt"
)

// Host is a host of an allocation.
type Host struct {
	Name  string
	Slots int    // number of ranks that the host takes
	Group string // the argument in place of %g in Remote for this host, "" for none
}

// Allocation is the set of hosts that a scheduler has given to a job.
type Allocation struct {
	Source string   // the scheduler and its name of the job, for messages
	From   string   // the environment variables that describe the allocation, for messages
	Hosts  []Host   // in the scheduler's order; nil if File names them or Pods is set, and until Answer sets them
	Ranks  int      // number of ranks that the user has asked for, 0 for one per slot
	File   string   // a file that lists the hosts, "" if Hosts has them
	Remote []string // the command that starts a process on a host, whose name replaces %h; nil for gorun's default
	Args   []string // arguments to append to gorun's default command
	Ask    []string // a command whose output Answer parses; nil if the hosts are known without it
	Pods   *Pods    // the containers that start the hosts' agents by themselves, nil without such containers

	// Hidden reports whether an environment variable must be hidden from the command Remote. It is nil if the
	// command may see all variables.
	Hidden func(name string) bool
}

// groupArgument is the word of Remote that stands for Host.Group. For a host without Group, the word is left
// out.
const groupArgument = "%g"

// Command returns the words of Remote for the hosts of a group.
func Command(remote []string, group string) []string {
	words := make([]string, 0, len(remote))
	for _, w := range remote {
		if w == groupArgument {
			w = group
		}
		if w != "" {
			words = append(words, w)
		}
	}
	return words
}

// errUnset is the cause of an error about a variable that has no value.
var errUnset = errors.New("is not set")

// Find returns the allocation that the environment describes, or nil if it describes none. getenv
// returns "" for a variable that is not set. Find looks for the variables of Slurm first, then for those
// of a container platform, then for those by which a launcher of MPI finds a file with hosts, and last for
// those of Flux. If none of these variables is set, but JOB_COMPLETION_INDEX is, Find returns an error.
func Find(getenv func(string) string) (*Allocation, error) {
	for _, find := range []func(func(string) string) (*Allocation, error){slurm, pods, hostFile, flux, indexed} {
		if a, err := find(getenv); a != nil || err != nil {
			return a, err
		}
	}
	return nil, nil //nolint:nilnil // no allocation is no error
}

// assemble makes hosts from their names and their numbers of slots.
func assemble(names []string, counts []int, group string) ([]Host, error) {
	if len(names) != len(counts) {
		return nil, fmt.Errorf("%d hosts, and numbers of ranks for %d", len(names), len(counts))
	}
	hosts := make([]Host, len(names))
	for i, name := range names {
		hosts[i] = Host{Name: name, Slots: counts[i], Group: group}
	}
	return hosts, nil
}
