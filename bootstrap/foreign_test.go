package bootstrap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func TestForeignLaunchers(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want bootstrap.Foreign // its zero value: none
	}{
		"none":                   {},
		"Open MPI":               {map[string]string{"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "2"}, bootstrap.Foreign{Launcher: "mpirun of Open MPI", Rank: 2, Size: 4}},
		"Open MPI, one process":  {map[string]string{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, bootstrap.Foreign{}},
		"Hydra":                  {map[string]string{"PMI_RANK": "0", "PMI_SIZE": "3", "PMI_FD": "6"}, bootstrap.Foreign{Launcher: "mpiexec", Rank: 0, Size: 3}},
		"a step of Slurm":        {map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "PMI_RANK": "1", "PMI_SIZE": "2"}, bootstrap.Foreign{Launcher: "srun", Rank: 1, Size: 2}},
		"a batch script":         {map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "1"}, bootstrap.Foreign{}},
		"Open MPI within a step": {map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8"}, bootstrap.Foreign{Launcher: "mpirun of Open MPI", Rank: 5, Size: 8}},
		"Flux":                   {map[string]string{"FLUX_TASK_RANK": "3", "FLUX_JOB_SIZE": "4"}, bootstrap.Foreign{Launcher: "flux run", Rank: 3, Size: 4}},
		"nonsense":               {map[string]string{"PMI_RANK": "x", "PMI_SIZE": "4"}, bootstrap.Foreign{}},
		"a rank out of range":    {map[string]string{"PMI_RANK": "4", "PMI_SIZE": "4"}, bootstrap.Foreign{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := bootstrap.FindForeign(func(key string) string { return tc.env[key] })
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.want != bootstrap.Foreign{}, found)
		})
	}
}
