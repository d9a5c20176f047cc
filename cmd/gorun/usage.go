package main

import (
	"errors"
	"fmt"
	"strings"
)

const usageHead = `gorun starts the ranks of a job, on this machine or on several.

usage: gorun [flags] program [arguments] [: [flags] program [arguments]] ...

The program is an executable (looked up in PATH when it has no slash), the
directory of a Go package such as . or ./examples/heat, a .go file, or an
import path; Go code is built first. Flags are written -flag or --flag, with
"-flag value" or "-flag=value". All words after -- belong to the program.
-n, -x and -wdir apply to the program that follows them, the other flags to
the job.

`

const usageTail = `
examples:
  gorun -np 4 ./examples/heat              build the package, start four ranks
  gorun -np 4 -l ./prog -size 100          tag each line with its rank
  gorun -np 1 ./server : -np 8 ./client    two programs, nine ranks
  gorun -np 64 -timeout 5m -report r.json ./prog
  gorun -np 2 -prefix '[%r@%h] ' -output-dir out -- ./prog : -x
  gorun -np 8 -x GOMAXPROCS=2 -bind-to none ./prog < input
  gorun -host h1:2,h2:2 ./prog             four ranks on two hosts, by ssh
  gorun -hostfile F -np 64 -net 10.1.0.0/16 ./prog
  gorun -host h1:2,h2:2 -copy ./examples/ring
  gorun -hostfile F -ppn 2 -bind-to numa -dry-run ./prog
  salloc -N2 -n8 gorun ./prog              eight ranks on the two hosts of an allocation
  gorun -k8s-manifest -np 8 -ppn 4 -image I prog | kubectl apply -f -
  gorun -host p1,p2 -rsh 'kubectl exec -i %h --' -agent-path /usr/bin/gorun ./prog

hosts: gorun and the program must be on every host, at the same path as here
  (-agent-path names another gorun), or -copy sends them; files that are not the
  same everywhere are named before a rank starts. -rsh CMD is any command
  that connects standard input and output with a command on the host; the
  host's name replaces %h in CMD, or else follows CMD. This machine (localhost
  or its own name) needs no -rsh. Ranks get the environment and directory of
  this shell, except HOME, USER, LOGNAME, SHELL and PATH on hosts with a user
  name (user@host) or where the user differs. Variables of the machine or of the
  login on it (DISPLAY, MAIL, HOSTNAME, SSH_*, XDG_* and the like) reach other
  hosts only by -x. When the connection to a host ends, all processes of the job
  there are killed. With more than 32 hosts (GORUN_RADIX=N: more than N), gorun
  starts the agents of 32, and these start the others by the same command, which
  their hosts need as well. For many short jobs one connection of ssh can serve all:
  -rsh 'ssh -oControlMaster=auto -oControlPath=~/.ssh/%C -oControlPersist=60'

doctor: "gorun doctor host ..." examines hosts, "gorun doctor" this machine: whether a
  host is reached, has the same gorun and can connect to the others, and which limits,
  clocks and permissions prevent jobs or make them slow. A line for each check, with the
  remedy; exit code 1 if jobs are prevented; gorun doctor -h prints its flags. A program
  of that name is ./doctor or comes after --.

inspect: "gorun inspect" in another terminal shows what the ranks of a job are doing: one
  sentence that says what each rank waits for, at which line, and for which rank, then the
  ranks grouped by activity. With -watch it shows, once a second, the sentence and a table of
  messages and bytes per second of each rank; with -last RANK it shows all that is recorded of
  a rank. gorun inspect -h prints its flags. A program of that name is ./inspect or comes after
  --. gorun inspect finds the job by a socket that only this user and root can use. The job's
  gorun makes it in XDG_RUNTIME_DIR, else in TMPDIR or /tmp. gorun inspect also looks in
  /run/user/UID and /tmp: it needs the job's values of these variables only if they name other
  directories.

schedulers: without -host and -hostfile, gorun runs on the hosts that it was given, prints
  one line that says which, and fails if the list of hosts is incomplete. In an allocation of
  Slurm (salloc, sbatch) these are the hosts of the allocation, with a slot per task, and gorun
  starts its agents there by srun --overlap. In the launcher pod of Kubernetes' MPI Operator
  these are the hosts of the operator's host file, and agents are started by ssh. In an instance
  of Flux these are the hosts of the instance, and agents are started by flux exec. In a job of
  -k8s-manifest, or of Kubeflow's Trainer for torch, every pod runs gorun: that of the first pod
  starts the job, and the others connect to it and are its agents (docs/kubernetes.md).
  -host localhost runs the job on this machine all the same. A program that mpiexec of MPICH,
  mpirun of Open MPI or srun starts as several processes needs no gorun: they are the ranks of
  one world. Without PMI (mpirun, srun) they meet by a file in a directory that all hosts share:
  GORUN_RENDEZVOUS (mpirun -x GORUN_RENDEZVOUS), else gorun/ in the user's cache directory.

exit code: that of the first rank that failed (128+n for signal n), else 0;
  with -on-failure continue, a rank does not count if the program has recovered
  from its loss and called World.Handled;
  86 deadlock, 124 timeout, 125 error of gorun (flags, build, start) or lost host, 126 the
  program cannot be executed, 127 it was not found.

signals: INT, TERM and HUP are passed to the ranks, which are killed after -grace; a
  second INT kills at once. Each QUIT (Ctrl-\) prints the operation that blocks
  each rank; two within a second end the ranks with the stacks of all their
  goroutines. Two QUIT within a second to the process of one rank end that rank
  in the same way.
  USR1, USR2, TSTP and CONT are passed to the ranks.

environment of a rank: GORUN_RANK, GORUN_SIZE, GORUN_LOCAL_RANK,
  GORUN_LOCAL_SIZE, GORUN_NODE_RANK, GORUN_NODES, GORUN_HOST, GORUN_JOB;
  GOMAXPROCS is the rank's share of the processors unless it was set.
  GORUN_CONTAIN=cgroup|namespace|scan chooses how gorun tracks the processes
  of the job, in order to end them (default: the first that works).

settings of a rank: from this shell's environment or -x, with their defaults
  (go doc github.com/gorun-hpc/gorun/runtime explains them)
  GORUN_TRANSPORT=auto, GORUN_NET=, GORUN_RDMA_DEVICE=  as -transport, -net, -rdma-device
  GORUN_ENCRYPT=auto     as -encrypt
  GORUN_RDMA_LIBRARY=0   1: libibverbs drives the RDMA adapters siw and rxe, too; all
                         others need it, and a program that was built with cgo
  GORUN_NET_GIVEUP=30s   how long a connection to a rank of another node is attempted
                         before the rank counts as lost; a stopped rank is waited
                         for as long as its node reports it alive
  GORUN_NET_TIMEOUT=20s  how long data sent to another node may stay unacknowledged, or
                         unread, before the connection is made again
  GORUN_NET_IDLE=0       a connection between nodes ends after that time without
                         traffic; 0: never
  GORUN_ANSWER_WITHIN=1m  how long ranks that another launcher has started wait for
                         each other
  GORUN_COMPRESS=1       0: never compress payload to other nodes; 1: do on slow links
  GORUN_CRC=             0: no CRC on connections over TCP; 1: a CRC also in a job on one
                         node; default: a CRC between nodes
  GORUN_CMA=1            0: no process_vm_readv
  GORUN_SPIN=50us, GORUN_YIELD=100us  how long a waiting rank polls before it sleeps, if
                         it has a processor of its own
  GORUN_COLL=            the algorithms of collective operations (package collectives)
  GORUN_COLL_TABLE=      file with the algorithms that bench/tune found to be the fastest
  GORUN_REPRODUCIBLE=0   1: as -reproducible
  GORUN_COMPARE=1        0: ranks do not check that the others call the same collective
                         operation with the same arguments
  GORUN_CHECK=0          1: as -check
  GORUN_EXPLAIN=0        1: as -explain
  GORUN_DEBUG=0          1: access to memory that was given away faults
`

// usage returns the text of -h.
func usage() string {
	var b strings.Builder
	b.WriteString(usageHead)
	for i, g := range flagGroups {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s:\n", g.title)
		for _, f := range g.flags {
			b.WriteString(f.line())
		}
	}
	b.WriteString(usageTail)
	return b.String()
}

// line returns the line of a flag in the help.
func (f flag) line() string {
	left := "-" + strings.Join(f.names, ", -")
	if f.value != "" {
		left += f.separator() + f.value
	}
	return fmt.Sprintf("  %-26s %s\n", left, f.help)
}

// foreign maps flags of other launchers to the equivalent in gorun, or to the reason why gorun has none.
var foreign = map[string]string{
	"oversubscribe":     "not needed: more ranks than processors is normal",
	"allow-run-as-root": "not needed: root is normal",
	"machinefile":       "use -hostfile F",
	"hosts":             "use -host H:N,...",
	"H":                 "use -host H:N,...",
	"f":                 "use -hostfile F",
	"N":                 "use -ppn N",
	"npernode":          "use -ppn N",
	"perhost":           "use -ppn N",
	"genv":              "use -x VAR=VALUE",
	"env":               "use -x VAR=VALUE",
	"genvlist":          "use -x VAR",
	"launcher":          "use -rsh CMD",
	"launcher-exec":     "use -rsh CMD",
	"plm_rsh_agent":     "use -rsh CMD",
	"iface":             "use -net IFACE",
	"mca":               "gorun has no MCA parameters",
	"c":                 "use -np N",
	"prepend-rank":      "use -l",
	"prepend-pattern":   "use -prefix PATTERN",
	"label":             "use -l",
	"output-filename":   "use -output-dir DIR",
	"outfile-pattern":   "use -output-dir DIR",
	"wd":                "use -wdir DIR",
	"cwd":               "use -wdir DIR",
	"V":                 "use -version",
	"s":                 "use -stdin all",
}

// unknownFlag returns the error for a flag that does not exist, with a suggestion.
func unknownFlag(name string) error {
	const more = "(gorun -h lists the flags; the program's own flags come after its name)"
	if hint, ok := foreign[name]; ok {
		return fmt.Errorf("unknown flag -%s: %s %s", name, hint, more)
	}
	if strings.HasPrefix(name, "np") || strings.HasPrefix(name, "n") {
		if digits := strings.TrimLeft(name, "np"); digits != "" && strings.Trim(digits, "0123456789") == "" {
			return fmt.Errorf("unknown flag -%s: did you mean -np %s? %s", name, digits, more)
		}
	}
	var names []string
	for _, f := range flags {
		names = append(names, f.names...)
	}
	best := nearest(name, names, 1)
	if best != "" {
		return fmt.Errorf("unknown flag -%s: did you mean -%s? %s", name, best, more)
	}
	return errors.New("unknown flag -" + name + " " + more)
}

// nearest returns the first of the names that need the fewest edits to become name, or "" if none is near. A name
// is near if at most two edits suffice and leave enough of its letters. The parameter keep is the least number of
// letters that must be left.
func nearest(name string, names []string, keep int) string {
	best, at := "", 3
	for _, n := range names {
		if d := distance(name, n); d < at && d <= len(n)-keep {
			best, at = n, d
		}
	}
	return best
}

// distance returns the least number of insertions, deletions and changes that turn a into b
// (Levenshtein 1966). It computes the table row by row.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
