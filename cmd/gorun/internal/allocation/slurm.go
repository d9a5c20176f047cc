package allocation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// srun is the command that starts an agent on a host. --overlap lets the agent share resources with
// other steps of the job. The ranks are not tasks of Slurm, so the agent needs neither Slurm's PMI
// (--mpi=none) nor its binding (--cpu-bind=none).
var srun = []string{
	"srun", groupArgument, "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--nodelist=%h",
	"--mpi=none", "--cpu-bind=none", "--export=ALL", "--kill-on-bad-exit=0", "--quiet",
}

// srunNeeds lists the environment variables of Slurm that are passed to srun. By these variables, srun finds
// the job. All other variables of Slurm, except SLURM_JOB_ID_HET_GROUP_*, are hidden from srun, because they set
// defaults for its flags (srun(1), "INPUT ENVIRONMENT VARIABLES"). For example, SLURM_LABELIO would put the number
// of the task before each line of the agent. SRUN_CPUS_PER_TASK would bind the agent to as many processors as its
// value says.
var srunNeeds = []string{
	"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_CLUSTER_NAME", "SLURM_CLUSTERS",
	"SLURM_WORKING_CLUSTER", "SLURM_JWT", "SLURM_HET_SIZE",
}

// hiddenFromSrun reports whether an environment variable must be hidden from srun.
func hiddenFromSrun(name string) bool {
	return (strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "SRUN_")) &&
		!slices.Contains(srunNeeds, name) && !strings.HasPrefix(name, "SLURM_JOB_ID_HET_GROUP_")
}

// slurm finds the allocation of Slurm in which gorun runs. gorun may run in the shell of salloc, in a batch
// script, or in a job step of one task (salloc(1), sbatch(1), srun(1), "OUTPUT ENVIRONMENT VARIABLES"). slurm
// returns nil outside of an allocation. In a heterogeneous job, each component has its own set of variables.
// The names of these variables have a suffix with the number of the component.
func slurm(getenv func(string) string) (*Allocation, error) {
	id := getenv("SLURM_JOB_ID")
	if id == "" {
		return nil, nil //nolint:nilnil // no allocation is no error
	}
	a := &Allocation{Source: "job " + id + " of Slurm", From: "SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE", Remote: srun, Hidden: hiddenFromSrun}
	components := 1
	if text := getenv("SLURM_HET_SIZE"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > hostsMax {
			return nil, a.wrong(fmt.Errorf("SLURM_HET_SIZE=%.20q is no number of components", text))
		}
		components = n
	}
	if components > 1 {
		a.From += fmt.Sprintf(" of %d components", components)
	}
	for i := range components {
		suffix, group := "", ""
		if components > 1 {
			suffix, group = fmt.Sprintf("_HET_GROUP_%d", i), fmt.Sprintf("--het-group=%d", i)
		}
		if err := a.addSlurm(func(name string) (string, string) { return name + suffix, getenv(name + suffix) }, group); err != nil {
			return nil, a.wrong(err)
		}
	}
	return a, nil
}

// addSlurm adds the hosts of one component of a job. variable returns the name of an environment
// variable with the suffix of the component, and its value. group is the flag by which srun
// selects the component. group is "" if the job has only one component.
func (a *Allocation) addSlurm(variable func(string) (name, value string), group string) error {
	names, err := fromVariable(variable, "SLURM_JOB_NODELIST", ParseHostlist)
	if err != nil {
		return err
	}
	counts, err := fromVariable(variable, "SLURM_TASKS_PER_NODE", ParseCounts)
	if err != nil {
		return err
	}
	hosts, err := assemble(names, counts, group)
	if err != nil {
		list, nodes := variable("SLURM_JOB_NODELIST")
		per, tasks := variable("SLURM_TASKS_PER_NODE")
		return fmt.Errorf("%s=%s %s=%s: %w", list, nodes, per, tasks, err)
	}
	slots := 0
	for _, n := range counts {
		slots += n
	}
	asked := 0
	for _, check := range []struct {
		name string
		is   int
		what string
		to   *int
	}{
		{"SLURM_JOB_NUM_NODES", len(names), "hosts", new(int)},
		{"SLURM_NTASKS", slots, "ranks", &asked},
	} {
		name, text := variable(check.name)
		n, err := strconv.Atoi(text)
		if err == nil && n > check.is {
			return fmt.Errorf("%s=%d, and the lists have room for %d %s", name, n, check.is, check.what)
		}
		if err == nil && n > 0 {
			*check.to = n
		}
	}
	a.Hosts = append(a.Hosts, hosts...)
	if asked == 0 {
		asked = slots
	}
	a.Ranks += asked
	return nil
}

// fromVariable parses the value of an environment variable. It returns an error if the variable is not set.
func fromVariable[T any](variable func(string) (name, value string), name string, parse func(string) (T, error)) (T, error) {
	name, text := variable(name)
	if text == "" {
		var none T
		return none, fmt.Errorf("%s %w", name, errUnset)
	}
	v, err := parse(text)
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// wrong returns the error for an allocation that cannot be used because of err.
func (a *Allocation) wrong(err error) error {
	return fmt.Errorf("%s: %w: run gorun in the shell of salloc or in a batch script, or name the hosts by -host", a.Source, err)
}
