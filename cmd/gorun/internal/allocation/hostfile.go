package allocation

import (
	"fmt"
	"strings"
)

// mpiHostFile is where the MPI Operator of Kubernetes mounts the list of its workers.
const mpiHostFile = "/etc/mpi/hostfile"

// fileVariables are the variables that name a file with hosts for the launchers of Open MPI, MPICH
// and Intel MPI.
var fileVariables = []string{"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile", "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"}

// hostFile finds a file with the hosts of a job, which run sshd. The MPI Operator and the trainers of
// Kubeflow give the launcher's container such a file. They also pass arguments for ssh, in a
// variable of Open MPI. For Open MPI, a file with the name none means that there is no file.
func hostFile(getenv func(string) string) (*Allocation, error) {
	a := &Allocation{Args: strings.Fields(getenv("OMPI_MCA_plm_rsh_args"))}
	for _, name := range fileVariables {
		if a.File = getenv(name); a.File != "" && a.File != "none" {
			a.Source, a.From = "the list of hosts "+a.File, name
			return a, nil
		}
	}
	switch role := getenv("K_MPI_JOB_ROLE"); role {
	case "":
	case "launcher":
		a.File = mpiHostFile
		a.Source, a.From = "the list of hosts "+a.File, "K_MPI_JOB_ROLE=launcher"
		return a, nil
	default:
		return nil, fmt.Errorf("K_MPI_JOB_ROLE=%.40s: this is a worker of an MPIJob: run gorun in its launcher; -host localhost runs a job in this pod alone", role)
	}
	return nil, nil //nolint:nilnil // no allocation is no error
}
