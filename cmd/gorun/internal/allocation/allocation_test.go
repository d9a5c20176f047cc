package allocation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/allocation"
)

// ParseHostlist expands Slurm's compressed lists of hosts in their order, and refuses lists that
// are malformed or too long.
func TestHostlists(t *testing.T) {
	for text, want := range map[string]string{
		"n0":                    "n0",
		"n[0-1]":                "n0 n1",
		"n[1-3,07-09]x":         "n1x n2x n3x n07x n08x n09x",
		"h[0-3,7],x[01-03]":     "h0 h1 h2 h3 h7 x01 x02 x03",
		"r[1-2]n[8-10]":         "r1n8 r1n9 r1n10 r2n8 r2n9 r2n10",
		"a,b.example.org,c[5]":  "a b.example.org c5",
		"x[098-101]":            "x098 x099 x100 x101",
		"[1-2]a,n0,n0":          "1a 2a n0 n0",
		"tux[1-2]-ib0,login[3]": "tux1-ib0 tux2-ib0 login3",
	} {
		got, err := allocation.ParseHostlist(text)
		require.NoError(t, err, text)
		require.Equal(t, want, strings.Join(got, " "), text)
	}
	for text, want := range map[string]string{
		"":                                  "empty",
		"a,,b":                              "empty",
		"n[1-3":                             "not closed",
		"n]1":                               "no name",
		"n[3-1]":                            "nor a range",
		"n[x]":                              "nor a range",
		"n[]":                               "nor a range",
		"n[-1]":                             "nor a range",
		"n[1-99999999]":                     "more than",
		"n[0-65535],m":                      "more than",
		"n[0-999][0-999]":                   "more than",
		"n[18446744073709551616]":           "nor a range",
		"a b":                               "no name",
		"n[0-1]" + strings.Repeat("x", 255): "bytes",
	} {
		_, err := allocation.ParseHostlist(text)
		require.ErrorContains(t, err, want, text)
	}
}

// ParseCounts expands Slurm's compressed numbers of tasks per host, and refuses malformed numbers.
func TestCounts(t *testing.T) {
	for text, want := range map[string][]int{
		"1":         {1},
		"2(x3),1":   {2, 2, 2, 1},
		"4,2,1(x2)": {4, 2, 1, 1},
	} {
		got, err := allocation.ParseCounts(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "x", "2(x3", "2(x)", "2(x0)", "-1", "2(3)", "1,", "2(x99999999)", "1(x65536),1", "99999999"} {
		_, err := allocation.ParseCounts(text)
		require.Error(t, err, text)
	}
}

// in returns a function that looks up variables in env, in the same way as os.Getenv does in the environment.
func in(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// Find recognizes the allocation in which gorun runs from its environment. If a variable is missing or
// inconsistent, Find returns an error that names the variable.
func TestFind(t *testing.T) {
	slurm := func(more ...string) map[string]string {
		env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[0-1]", "SLURM_TASKS_PER_NODE": "2,1", "SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "3"}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	hosts := []allocation.Host{{Name: "n0", Slots: 2}, {Name: "n1", Slots: 1}}
	mixed := func(more ...string) map[string]string {
		return slurm(append([]string{
			"SLURM_HET_SIZE", "2", "SLURM_JOB_NODELIST_HET_GROUP_0", "n0", "SLURM_TASKS_PER_NODE_HET_GROUP_0", "4", "SLURM_NTASKS_HET_GROUP_0", "2",
			"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]", "SLURM_TASKS_PER_NODE_HET_GROUP_1", "1(x2)",
		}, more...)...)
	}
	for name, tc := range map[string]struct {
		env map[string]string
		// the wanted fields of the allocation, or a text in the error
		source string
		hosts  []allocation.Host
		ranks  int // 0: one rank per slot
		file   string
		args   []string
		err    string
	}{
		"nothing":        {},
		"salloc":         {env: slurm(), source: "job 7 of Slurm", hosts: hosts},
		"a batch script": {env: slurm("SLURM_PROCID", "0", "SLURM_NODEID", "0"), source: "job 7 of Slurm", hosts: hosts},
		"the interactive step of salloc": {
			env:    slurm("SLURM_PROCID", "0", "SLURM_STEP_ID", "4294967290", "SLURM_STEP_NUM_TASKS", "1", "SLURM_STEP_TASKS_PER_NODE", "1"),
			source: "job 7 of Slurm", hosts: hosts,
		},
		"fewer tasks than slots":  {env: slurm("SLURM_NTASKS", "2"), source: "job 7 of Slurm", hosts: hosts, ranks: 2},
		"no list":                 {env: slurm("SLURM_JOB_NODELIST", ""), err: "job 7 of Slurm: SLURM_JOB_NODELIST is not set"},
		"no counts":               {env: slurm("SLURM_TASKS_PER_NODE", ""), err: "SLURM_TASKS_PER_NODE is not set"},
		"a step of one host":      {env: slurm("SLURM_TASKS_PER_NODE", "1"), err: "2 hosts, and numbers of ranks for 1"},
		"more hosts than named":   {env: slurm("SLURM_JOB_NUM_NODES", "3"), err: "SLURM_JOB_NUM_NODES=3, and the lists have room for 2 hosts"},
		"more ranks than counted": {env: slurm("SLURM_NTASKS", "4"), err: "SLURM_NTASKS=4, and the lists have room for 3 ranks"},
		"a damaged list":          {env: slurm("SLURM_JOB_NODELIST", "n[0-"), err: "SLURM_JOB_NODELIST: list of hosts"},
		"damaged counts":          {env: slurm("SLURM_TASKS_PER_NODE", "2(x"), err: "SLURM_TASKS_PER_NODE: ranks per host"},
		"a heterogeneous job": {
			env: mixed(), source: "job 7 of Slurm", ranks: 4,
			hosts: []allocation.Host{{Name: "n0", Slots: 4, Group: "--het-group=0"}, {Name: "n2", Slots: 1, Group: "--het-group=1"}, {Name: "n3", Slots: 1, Group: "--het-group=1"}},
		},
		"a component without a list":   {env: mixed("SLURM_HET_SIZE", "3"), err: "SLURM_JOB_NODELIST_HET_GROUP_2 is not set"},
		"a component with more":        {env: mixed("SLURM_NTASKS_HET_GROUP_1", "9"), err: "SLURM_NTASKS_HET_GROUP_1=9, and the lists have room for 2 ranks"},
		"a number of no components":    {env: mixed("SLURM_HET_SIZE", "two"), err: "SLURM_HET_SIZE=\"two\""},
		"a heterogeneous job, damaged": {env: mixed("SLURM_TASKS_PER_NODE_HET_GROUP_1", "1"), err: "SLURM_JOB_NODELIST_HET_GROUP_1=n[2-3] SLURM_TASKS_PER_NODE_HET_GROUP_1=1: 2 hosts"},
		"MPI Operator, Open MPI": {
			env:    map[string]string{"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile", "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10"},
			source: "the list of hosts /etc/mpi/hostfile", file: "/etc/mpi/hostfile", args: []string{"-o", "ConnectionAttempts=10"},
		},
		"MPI Operator, MPICH": {env: map[string]string{"HYDRA_HOST_FILE": "/f"}, source: "the list of hosts /f", file: "/f"},
		"MPI Operator, Intel": {env: map[string]string{"I_MPI_HYDRA_HOST_FILE": "/g"}, source: "the list of hosts /g", file: "/g"},
		"MPI Operator, a launcher without variables": {
			env: map[string]string{"K_MPI_JOB_ROLE": "launcher"}, source: "the list of hosts /etc/mpi/hostfile", file: "/etc/mpi/hostfile",
		},
		"no list, for Open MPI":    {env: map[string]string{"OMPI_MCA_orte_default_hostfile": "none"}},
		"MPI Operator, Open MPI 5": {env: map[string]string{"PRTE_MCA_prte_default_hostfile": "/f"}, source: "the list of hosts /f", file: "/f"},
		"MPI Operator, a worker":   {env: map[string]string{"K_MPI_JOB_ROLE": "worker"}, err: "run gorun in its launcher"},
		"a launcher in a JobSet": {
			env:    map[string]string{"HYDRA_HOST_FILE": "/f", "JOB_COMPLETION_INDEX": "0"},
			source: "the list of hosts /f", file: "/f",
		},
		"a pod that knows no others": {env: map[string]string{"JOB_COMPLETION_INDEX": "3"}, err: "nothing says how many there are"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := allocation.Find(in(tc.env))
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.Nil(t, a)
				return
			}
			require.NoError(t, err)
			if tc.source == "" {
				require.Nil(t, a)
				return
			}
			require.Equal(t, tc.source, a.Source)
			require.Equal(t, tc.hosts, a.Hosts)
			if slots := 0; tc.ranks == 0 {
				for _, h := range a.Hosts {
					slots += h.Slots
				}
				tc.ranks = slots
			}
			require.Equal(t, tc.ranks, a.Ranks)
			require.Equal(t, tc.file, a.File)
			require.ElementsMatch(t, tc.args, a.Args)
			require.Equal(t, tc.file == "", a.Remote != nil)
		})
	}
}

// Find recognizes the pod in which gorun runs, and the location of the first pod. Each error also names the
// flag that makes gorun ignore the other pods.
func TestPods(t *testing.T) {
	of := func(pairs ...string) map[string]string {
		env := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			env[pairs[i]] = pairs[i+1]
		}
		return env
	}
	own := func(pairs ...string) map[string]string {
		return of(append([]string{"GORUN_PODS", "4", "GORUN_POD_ROOT", "job-0.job:29400", "JOB_COMPLETION_INDEX", "3"}, pairs...)...)
	}
	torch := func(pairs ...string) map[string]string {
		return of(append([]string{
			"PET_NNODES", "2", "PET_NPROC_PER_NODE", "8", "PET_NODE_RANK", "1", "PET_MASTER_ADDR", "t-node-0-0.t", "PET_MASTER_PORT", "29500",
			"JOB_COMPLETION_INDEX", "1",
		}, pairs...)...)
	}
	for name, tc := range map[string]struct {
		env  map[string]string
		want allocation.Pods
		err  string
	}{
		"gorun's manifest": {env: own(), want: allocation.Pods{Index: 3, Count: 4, Slots: 1, Root: "job-0.job", Port: 29400, Secret: "/etc/gorun/secret"}},
		"all that it may say": {
			env:  own("GORUN_POD_SLOTS", "6", "GORUN_SECRET_FILE", "/s", "GORUN_ATTEMPT", "2", "GORUN_POD_ROOT", "[fd00::1]:1"),
			want: allocation.Pods{Index: 3, Count: 4, Slots: 6, Root: "fd00::1", Port: 1, Secret: "/s", Attempt: "2"},
		},
		"no index":         {env: own("JOB_COMPLETION_INDEX", ""), err: "JOB_COMPLETION_INDEX is not set"},
		"an index too far": {env: own("JOB_COMPLETION_INDEX", "4"), err: `JOB_COMPLETION_INDEX="4": want a number from 0 to 3`},
		"no number":        {env: own("GORUN_PODS", "many"), err: `GORUN_PODS="many"`},
		"no slots":         {env: own("GORUN_POD_SLOTS", "0"), err: "GORUN_POD_SLOTS"},
		"no root":          {env: own("GORUN_POD_ROOT", ""), err: "GORUN_POD_ROOT"},
		"no port":          {env: own("GORUN_POD_ROOT", "job-0.job"), err: "GORUN_POD_ROOT"},
		"port 0":           {env: own("GORUN_POD_ROOT", "job-0.job:0"), err: "GORUN_POD_ROOT"},
		"an address, bare": {env: own("GORUN_POD_ROOT", "fd00::1:29400"), err: "GORUN_POD_ROOT"},
		"a name in []":     {env: own("GORUN_POD_ROOT", "[job-0]:29400"), err: "GORUN_POD_ROOT"},
		"Trainer":          {env: torch(), want: allocation.Pods{Index: 1, Count: 2, Slots: 8, Root: "t-node-0-0.t", Port: 29500, Secret: "/etc/gorun/secret"}},
		"a rank for each processor": {
			env:  torch("PET_NPROC_PER_NODE", "auto", "PET_NODE_RANK", "", "PET_NNODES", "2:2"),
			want: allocation.Pods{Index: 1, Count: 2, Root: "t-node-0-0.t", Port: 29500, Secret: "/etc/gorun/secret"},
		},
		"one node":      {env: of("PET_NNODES", "1", "PET_NODE_RANK", "0"), want: allocation.Pods{Count: 1, Slots: 1, Secret: "/etc/gorun/secret"}},
		"elastic":       {env: torch("PET_NNODES", "1:4"), err: "elastic"},
		"GPUs":          {env: torch("PET_NPROC_PER_NODE", "gpu"), err: "numProcPerNode"},
		"no ranks":      {env: torch("PET_NPROC_PER_NODE", "0"), err: "PET_NPROC_PER_NODE"},
		"no number of":  {env: torch("PET_NODE_RANK", "", "JOB_COMPLETION_INDEX", ""), err: "PET_NODE_RANK is not set"},
		"too far":       {env: torch("PET_NODE_RANK", "2"), err: "PET_NODE_RANK"},
		"no master":     {env: torch("PET_MASTER_ADDR", ""), err: "PET_MASTER_ADDR"},
		"no port of it": {env: torch("PET_MASTER_PORT", ""), err: "PET_MASTER_PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := allocation.Find(in(tc.env))
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.ErrorContains(t, err, "-host localhost")
				return
			}
			require.NoError(t, err)
			require.Equal(t, &tc.want, a.Pods)
		})
	}
}

// srun does not get the variables of Slurm that configure the user's own steps, because these variables would
// change how srun starts the agents.
func TestVariablesThatSrunDoesNotSee(t *testing.T) {
	a, err := allocation.Find(in(map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n0", "SLURM_TASKS_PER_NODE": "1"}))
	require.NoError(t, err)
	for name, hidden := range map[string]bool{
		"SLURM_LABELIO": true, "SLURM_STDINMODE": true, "SLURM_STDOUTMODE": true, "SLURM_STDERRMODE": true, "SLURM_UNBUFFEREDIO": true,
		"SLURM_DISTRIBUTION": true, "SLURM_NTASKS": true, "SRUN_CPUS_PER_TASK": true, "SLURM_CPU_BIND": true, "SLURM_EXCLUSIVE": true,
		"SLURM_JOB_ID": false, "SLURM_CONF": false, "SLURM_JOB_ID_HET_GROUP_1": false, "SLURM_HET_SIZE": false, "PATH": false, "SLURMER": false,
	} {
		require.Equal(t, hidden, a.Hidden(name), name)
	}
}

// FuzzHostlist checks that each name of an accepted list is a plain name, so that expanding the
// names again changes nothing.
func FuzzHostlist(f *testing.F) {
	for _, text := range []string{"n[1-3,07-12]x", "n[0-1],a,b[2][3-4]", "n[", "n]", "a,,", "[", "n[1-", "n[0-65535]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := allocation.ParseHostlist(text)
		if err != nil {
			require.Empty(t, names)
			return
		}
		require.NotEmpty(t, names)
		for _, name := range names {
			require.NotEmpty(t, name)
			require.NotContains(t, name, "[")
			require.NotContains(t, name, ",")
		}
		again, err := allocation.ParseHostlist(strings.Join(names, ","))
		require.NoError(t, err)
		require.Equal(t, names, again, "expanded names are names")
	})
}

// FuzzCounts checks that an accepted list has only positive numbers.
func FuzzCounts(f *testing.F) {
	for _, text := range []string{"2(x3),1", "1", "4,2,1(x2)", "2(x", "(x3)", ",", "1(x-1)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		counts, err := allocation.ParseCounts(text)
		require.Equal(t, err == nil, len(counts) > 0)
		for _, n := range counts {
			require.Positive(t, n)
		}
	})
}

// Find recognizes an instance of Flux but not a task of flux run. The hosts come from the answer to
// a command, and each has the option that starts an agent on it.
func TestFlux(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"nothing":                 {},
		"a task of flux run":      {"FLUX_URI": "local:///x", "FLUX_JOB_ID": "f1", "FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "1"},
		"a job, but no instance":  {"FLUX_JOB_ID": "f1"},
		"an instance of no hosts": {"FLUX_URI": ""},
	} {
		a, err := allocation.Find(in(env))
		require.NoError(t, err, name)
		require.Nil(t, a, name)
	}
	a, err := allocation.Find(in(map[string]string{"FLUX_URI": "local:///run/flux"}))
	require.NoError(t, err)
	require.Equal(t, []string{"flux", "getattr", "hostlist"}, a.Ask)
	require.ErrorContains(t, a.Answer("n[", 2), "the instance of Flux: list of hosts")
	require.NoError(t, a.Answer("n[7-8],x", 2))
	require.Equal(t, []allocation.Host{{Name: "n7", Slots: 2, Group: "--rank=0"}, {Name: "n8", Slots: 2, Group: "--rank=1"}, {Name: "x", Slots: 2, Group: "--rank=2"}}, a.Hosts)
	require.Equal(t, []string{"flux", "exec", "--rank=1"}, allocation.Command(a.Remote, a.Hosts[1].Group))
	require.Equal(t, []string{"flux", "exec"}, allocation.Command(a.Remote, ""))
}
