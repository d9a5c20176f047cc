package allocation

import (
	"fmt"
	"strconv"
)

// srun starts an agent on a host. --overlap: beside other steps of the job; the ranks are no
// tasks of Slurm's, so that neither its PMI nor its binding is for the agent.
var srun = []string{
	"srun", "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--nodelist=%h",
	"--mpi=none", "--cpu-bind=none", "--export=ALL", "--kill-on-bad-exit=0", "--quiet",
}

// slurm finds an allocation of Slurm: in the shell of salloc, a batch script, or a job step
// of one task (salloc(1), sbatch(1), srun(1), "OUTPUT ENVIRONMENT VARIABLES").
func slurm(getenv func(string) string) (*Allocation, error) {
	id := getenv("SLURM_JOB_ID")
	if id == "" {
		return nil, nil //nolint:nilnil // no allocation is no error
	}
	a := &Allocation{Source: "job " + id + " of Slurm", From: "SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE", Remote: srun}
	if n, err := strconv.Atoi(getenv("SLURM_HET_SIZE")); err == nil && n > 1 {
		return nil, fmt.Errorf("%s: it is heterogeneous, of %d components, which gorun does not join: name the hosts by -host or -hostfile", a.Source, n)
	}
	names, err := fromVariable(getenv, "SLURM_JOB_NODELIST", ParseHostlist)
	if err != nil {
		return nil, a.wrong(err)
	}
	counts, err := fromVariable(getenv, "SLURM_TASKS_PER_NODE", ParseCounts)
	if err != nil {
		return nil, a.wrong(err)
	}
	if a.Hosts, err = assemble(names, counts); err != nil {
		return nil, a.wrong(fmt.Errorf("SLURM_JOB_NODELIST=%s SLURM_TASKS_PER_NODE=%s: %w", getenv("SLURM_JOB_NODELIST"), getenv("SLURM_TASKS_PER_NODE"), err))
	}
	for _, check := range []struct {
		name string
		is   int
		what string
	}{
		{"SLURM_JOB_NUM_NODES", len(names), "hosts"},
		{"SLURM_NTASKS", a.slots(), "ranks"},
	} {
		if n, err := strconv.Atoi(getenv(check.name)); err == nil && n > check.is {
			return nil, a.wrong(fmt.Errorf("%s=%d, and the lists have room for %d %s", check.name, n, check.is, check.what))
		}
	}
	return a, nil
}

// fromVariable parses the value of a variable that must be set.
func fromVariable[T any](getenv func(string) string, name string, parse func(string) (T, error)) (T, error) {
	text := getenv(name)
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

// wrong makes the error about an allocation that cannot be used.
func (a *Allocation) wrong(err error) error {
	return fmt.Errorf("%s: %w: run gorun in the shell of salloc or in a batch script, or name the hosts by -host", a.Source, err)
}

// slots returns the ranks that the hosts take.
func (a *Allocation) slots() int {
	n := 0
	for _, h := range a.Hosts {
		n += h.Slots
	}
	return n
}
