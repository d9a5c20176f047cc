package bootstrap

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Foreign is what another launcher than gorun says of the process that it started.
type Foreign struct {
	// Launcher is its command, or several commands if the variables do not tell them apart.
	Launcher string
	// Rank is the number of the process among Size.
	Rank, Size int
	// Local is the number of processes on this node, 0 if that is not said.
	Local int
	// Pods says that the processes are containers, in each of which gorun is to be started.
	Pods bool

	pmi bool   // the launcher offers PMI-1 to this process
	job string // tells the job from others of the user, "" if nothing does
}

// foreign lists the variables by which launchers number the processes of a job: Open
// MPI's mpirun; those that offer PMI-1 to a process, such as MPICH's mpiexec, srun --mpi=pmi2
// and flux run; Slurm's srun; Flux; and those of mpiexec where the connection has not been
// inherited or says all else. The first whose variables are both set counts, also if it has started one process. Slurm's are those of a job step:
// in a batch script, which is one process, only variables of the job are set. job are
// variables that are the same in all processes of a job, and in no other job of the user.
var foreign = []struct {
	launcher, rank, size, local string
	pmi                         bool
	job                         []string
}{
	{"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", false, []string{"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri"}},
	{"mpiexec or srun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", true, nil},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", false, []string{"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
	{"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "", false, []string{"FLUX_JOB_ID"}},
	{"mpiexec", "PMI_RANK", "PMI_SIZE", "", false, nil},
	{"mpiexec", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", false, nil},
	{podsOfTrainer, "PET_NODE_RANK", "PET_NNODES", "", false, nil},
	{podsOfJob, "JOB_COMPLETION_INDEX", "GORUN_PODS", "", false, nil},
}

// Platforms that start containers.
const (
	podsOfTrainer = "Kubeflow's Trainer"
	podsOfJob     = "Kubernetes"
)

// EnvJoined names the job of another launcher that a process has joined, so that the
// processes which it starts do not join in its place. [Join] sets it.
const EnvJoined = "GORUN_JOINED"

// FindForeign looks for another launcher in the environment, and reports whether there is
// one that started more than one process. A process that a rank has started is not one of
// them.
func FindForeign(getenv func(string) string) (Foreign, bool) {
	for _, f := range foreign {
		rank, err := strconv.Atoi(getenv(f.rank))
		if err != nil || f.pmi && getenv("PMI_FD") == "" && getenv("PMI_PORT") == "" {
			continue
		}
		size, err := strconv.Atoi(getenv(f.size))
		if err != nil || size > sizeMax || rank < 0 || rank >= size {
			continue
		}
		pods := f.launcher == podsOfTrainer || f.launcher == podsOfJob
		if pods && getenv(EnvRank) != "" { // a process that gorun's rank has started
			continue
		}
		if size == 1 { // other variables are those of a launcher that has started this one
			return Foreign{}, false
		}
		found := Foreign{Launcher: f.launcher, Rank: rank, Size: size, Pods: pods, pmi: f.pmi}
		if local, err := strconv.Atoi(getenv(f.local)); f.local != "" && err == nil && local > 0 && local <= size {
			found.Local = local
		}
		if f.launcher == "srun" && getenv("SLURM_STEP_NUM_NODES") == "1" {
			found.Local = size
		}
		found.job = jobOf(f.launcher, f.job, getenv)
		if found.job != "" && getenv(EnvJoined) == found.job {
			return Foreign{}, false
		}
		return found, true
	}
	return Foreign{}, false
}

// jobOf returns a name for the job from the values of variables, "" if the first is not set.
func jobOf(launcher string, names []string, getenv func(string) string) string {
	if len(names) == 0 || getenv(names[0]) == "" {
		return ""
	}
	values := []string{launcher}
	for _, name := range names {
		values = append(values, getenv(name))
	}
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// findLauncher is FindForeign for launchers whose processes can join each other. One that
// gives PMI-1 by a port says there who the process is, and how many there are.
func findLauncher(getenv func(string) string) (Foreign, bool) {
	if getenv("PMI_PORT") != "" && getenv("PMI_ID") != "" && getenv("PMI_FD") == "" && getenv("PMI_RANK") == "" {
		return Foreign{Launcher: "mpiexec", pmi: true}, true
	}
	f, found := FindForeign(getenv)
	return f, found && f.Joins()
}

// Remedy says how the processes become one job.
func (f Foreign) Remedy() string {
	if f.Pods {
		return "put gorun before the program in the command of the containers"
	}
	return fmt.Sprintf("start them by gorun -np %d instead", f.Size)
}

// Joins reports whether the processes that the launcher started can join each other. If not,
// each is a world of one rank.
func (f Foreign) Joins() bool { return f.pmi || f.job != "" }
