package bootstrap

import "strconv"

// Foreign is what another launcher than gorun says of the process that it started.
type Foreign struct {
	// Launcher is its command, or several commands if the variables do not tell them apart.
	Launcher string
	// Rank is the number of the process among Size.
	Rank, Size int
}

// foreign lists the variables by which launchers number the processes of a job: Open
// MPI's mpirun, Slurm's srun, and those that offer PMI-1 or PMI-2 to a process, such as
// Hydra's mpiexec. The first whose variables are both set counts. Slurm's are those of a
// job step: in a batch script, which is one process, only variables of the job are set.
var foreign = []struct{ launcher, rank, size string }{
	{"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	{"mpiexec", "PMI_RANK", "PMI_SIZE"},
	{"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
}

// FindForeign looks for another launcher in the environment, and reports whether there is
// one that started more than one process.
func FindForeign(getenv func(string) string) (Foreign, bool) {
	for _, f := range foreign {
		rank, err := strconv.Atoi(getenv(f.rank))
		if err != nil {
			continue
		}
		size, err := strconv.Atoi(getenv(f.size))
		if err == nil && size > 1 && rank >= 0 && rank < size {
			return Foreign{Launcher: f.launcher, Rank: rank, Size: size}, true
		}
	}
	return Foreign{}, false
}
