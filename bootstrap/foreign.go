package bootstrap

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Foreign has the information that a launcher other than gorun gives a process that it has started.
type Foreign struct {
	// Launcher is the command of the launcher, or the name of the platform that has started the containers. It
	// names several commands if the environment variables do not distinguish them.
	Launcher string
	// Rank is the number of the process, from 0 to Size-1.
	Rank, Size int
	// Local is the number of processes on this node, or 0 if the launcher does not give this number.
	Local int
	// Pods is true if the processes are containers. gorun has to be started in each of these containers.
	Pods bool

	pmi bool   // the launcher offers PMI-1 to this process
	job string // identifies the job among all jobs of the user; "" if no variable identifies it
}

// foreign lists the variables by which launchers number the processes of a job. Of the entries whose
// variables rank and size are both set, the first one is used, even if size is 1. An entry with pmi is used
// only if PMI_FD or PMI_PORT is also set. The second entry is for all launchers that offer PMI-1, such as
// MPICH's mpiexec, srun --mpi=pmi2 and flux run. The entry for Slurm's srun has variables of a job step,
// because a batch script, which is one process, has only the variables of the job. Two entries have the name
// "mpiexec". The first of them is for a process that has not inherited the connection of mpiexec. The second is
// for an mpiexec that sends rank and size only over a connection to PMI_PORT: the variables of this entry are those
// of the local rank and the local size. The last entries are for the platforms that start containers. job
// lists variables whose values, taken together, identify the job among the user's jobs.
var foreign = []struct {
	launcher, rank, size, local string
	pmi                         bool
	job                         []string
}{
	{"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", false, []string{"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri"}},
	{"mpiexec or srun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", true, nil},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", false, []string{"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME"}},
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

// EnvJoined is the variable that identifies which job of another launcher a process has joined. The child
// processes of a rank inherit the variables of the launcher. [Join] sets EnvJoined so that these child
// processes do not join the job in place of the rank.
const EnvJoined = "GORUN_JOINED"

// FindForeign looks for the variables of another launcher in the environment. It returns true if a launcher
// has started this process together with others. It returns false for a child process of a rank.
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
		if pods && getenv(EnvRank) != "" { // a rank of gorun has started this process
			continue
		}
		if size == 1 { // try no other entry: its variables would describe the process that started this launcher
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

// jobOf returns a hash of the launcher's name and the values of variables. The hash identifies the job. jobOf
// returns "" if the first variable is not set.
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

// findLauncher does the same as FindForeign, but only for launchers whose processes can form one world
// (Joins). For a launcher that offers PMI-1 at a port, Rank and Size are not set, because the launcher sends
// them over the connection to that port.
func findLauncher(getenv func(string) string) (Foreign, bool) {
	if getenv("PMI_PORT") != "" && getenv("PMI_ID") != "" && getenv("PMI_FD") == "" && getenv("PMI_RANK") == "" {
		return Foreign{Launcher: "mpiexec", pmi: true}, true
	}
	f, found := FindForeign(getenv)
	return f, found && f.Joins()
}

// Remedy returns text that tells the user how to make the processes one job.
func (f Foreign) Remedy() string {
	if f.Pods {
		return "put gorun before the program in the command of the containers"
	}
	return fmt.Sprintf("start them by gorun -np %d instead", f.Size)
}

// Joins reports whether the processes that the launcher started can form one world. If they cannot, each
// process is a world of one rank.
func (f Foreign) Joins() bool { return f.pmi || f.job != "" }
