package bootstrap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// FindForeign recognizes the launcher, rank and size of a process from its environment, and Joins
// reports whether the processes can find each other.
func TestForeignLaunchers(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want bootstrap.Foreign // the zero value if FindForeign must return false

		joins bool // whether the processes can find each other
	}{
		"none":                  {},
		"Open MPI":              {map[string]string{"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "2"}, bootstrap.Foreign{Launcher: "mpirun of Open MPI", Rank: 2, Size: 4}, false},
		"Open MPI, local":       {map[string]string{"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, bootstrap.Foreign{Launcher: "mpirun of Open MPI", Rank: 2, Size: 4, Local: 2}, false},
		"Open MPI, one process": {map[string]string{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, bootstrap.Foreign{}, false},
		"one process of a step's": {
			map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_JOB_ID": "3", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
			bootstrap.Foreign{},
			false,
		},
		"Hydra":           {map[string]string{"PMI_RANK": "0", "PMI_SIZE": "3", "PMI_FD": "6"}, bootstrap.Foreign{Launcher: "mpiexec or srun", Rank: 0, Size: 3}, true},
		"a step of Slurm": {map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "PMI_RANK": "1", "PMI_SIZE": "2"}, bootstrap.Foreign{Launcher: "srun", Rank: 1, Size: 2}, false},
		"a step of Slurm, none": {
			map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_ID": "3", "SLURM_STEP_ID": "0"},
			bootstrap.Foreign{Launcher: "srun", Rank: 1, Size: 2, Local: 2},
			true,
		},
		"a step of Slurm, pmi2": {
			map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "3", "SLURM_STEP_ID": "0", "PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": "8"},
			bootstrap.Foreign{Launcher: "mpiexec or srun", Rank: 1, Size: 2},
			true,
		},
		"Hydra within a step": {
			map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "3", "PMI_RANK": "3", "PMI_SIZE": "8", "PMI_FD": "8", "MPI_LOCALNRANKS": "4"},
			bootstrap.Foreign{Launcher: "mpiexec or srun", Rank: 3, Size: 8, Local: 4},
			true,
		},
		"Open MPI's job": {
			map[string]string{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "7"},
			bootstrap.Foreign{Launcher: "mpirun of Open MPI", Size: 2},
			true,
		},
		"mpiexec -pmi-port":        {map[string]string{"PMI_PORT": "h0:1", "PMI_ID": "1", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}, bootstrap.Foreign{Launcher: "mpiexec", Rank: 1, Size: 2}, false},
		"PMI without a connection": {map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2"}, bootstrap.Foreign{Launcher: "mpiexec", Rank: 1, Size: 2}, false},
		"a batch script":           {map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "1"}, bootstrap.Foreign{}, false},
		"Open MPI within a step":   {map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8"}, bootstrap.Foreign{Launcher: "mpirun of Open MPI", Rank: 5, Size: 8}, false},
		"Flux":                     {map[string]string{"FLUX_TASK_RANK": "3", "FLUX_JOB_SIZE": "4"}, bootstrap.Foreign{Launcher: "flux run", Rank: 3, Size: 4}, false},
		"Trainer":                  {map[string]string{"PET_NODE_RANK": "1", "PET_NNODES": "2", "JOB_COMPLETION_INDEX": "1"}, bootstrap.Foreign{Launcher: "Kubeflow's Trainer", Rank: 1, Size: 2, Pods: true}, false},
		"Trainer, one node":        {map[string]string{"PET_NODE_RANK": "0", "PET_NNODES": "1"}, bootstrap.Foreign{}, false},
		"gorun's manifest":         {map[string]string{"JOB_COMPLETION_INDEX": "1", "GORUN_PODS": "2"}, bootstrap.Foreign{Launcher: "Kubernetes", Rank: 1, Size: 2, Pods: true}, false},
		"a child of gorun's rank":  {map[string]string{"JOB_COMPLETION_INDEX": "1", "GORUN_PODS": "2", "GORUN_RANK": "3"}, bootstrap.Foreign{}, false},
		"nonsense":                 {map[string]string{"PMI_RANK": "x", "PMI_SIZE": "4"}, bootstrap.Foreign{}, false},
		"a rank out of range":      {map[string]string{"PMI_RANK": "4", "PMI_SIZE": "4"}, bootstrap.Foreign{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := bootstrap.FindForeign(func(key string) string { return tc.env[key] })
			require.Equal(t, tc.want, bootstrap.Foreign{Launcher: got.Launcher, Rank: got.Rank, Size: got.Size, Local: got.Local, Pods: got.Pods})
			require.Equal(t, tc.want != bootstrap.Foreign{}, found)
			require.Equal(t, tc.joins, got.Joins())
		})
	}
}

// Two clusters may share the directory in which ranks meet, and number their jobs alike. The ranks of their jobs do
// not meet.
func TestStepsOfTwoClusters(t *testing.T) {
	step := func(cluster string) string {
		env := map[string]string{
			"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "3", "SLURM_STEP_ID": "0", "SLURM_CLUSTER_NAME": cluster,
		}
		f, found := bootstrap.FindForeign(func(key string) string { return env[key] })
		require.True(t, found)
		return bootstrap.JobOf(f)
	}
	require.Equal(t, step("a"), step("a"))
	require.NotEqual(t, step("a"), step("b"))
}
