package bootstrap

import (
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

// Names of the environment variables of a rank. Each variable except the last holds one field of [Job];
// GORUN_JOB holds Job.ID. Numbers are decimal, GORUN_NODE_ID has hexadecimal digits, and GORUN_PEERS is a list
// of ranks. The last variable, GORUN_FDS, has the numbers of the inherited descriptors. [Join] removes GORUN_FDS
// from the environment, because the child processes of a rank are ordinary programs that do not inherit the
// descriptors.
const (
	EnvRank       = "GORUN_RANK"
	EnvSize       = "GORUN_SIZE"
	EnvLocalRank  = "GORUN_LOCAL_RANK"
	EnvLocalSize  = "GORUN_LOCAL_SIZE"
	EnvNodeRank   = "GORUN_NODE_RANK"
	EnvNodes      = "GORUN_NODES"
	EnvNode       = "GORUN_NODE_ID"
	EnvHost       = "GORUN_HOST"
	EnvPeers      = "GORUN_PEERS"
	EnvJob        = "GORUN_JOB"
	EnvEpoch      = "GORUN_EPOCH"
	EnvGeneration = "GORUN_GENERATION"
	EnvProcessors = "GORUN_PROCESSORS"
	EnvOnFailure  = "GORUN_ON_FAILURE"
	EnvNodeRange  = "GORUN_NODE_RANGE"
	EnvFDs        = "GORUN_FDS"
)

// EnvHostID is a variable whose value makes an agent and its ranks a node of their own. The value may be any
// text. Agents with different values share no memory, even on the same machine. Users set EnvHostID in order
// to simulate several nodes on one machine.
const EnvHostID = "GORUN_HOSTID"

// EnvSpare is set in a spare process, which waits to take the place of a lost rank, see [Session.Spare].
// While a spare waits, the other variables do not describe the identity of the process. [Join] sets them when
// the process gets the place of a rank.
const EnvSpare = "GORUN_SPARE"

// Names of the variables with the network settings of the launcher's command line. The launcher checks their
// values, and the transports read them.
const (
	// EnvNet selects the network for TCP between nodes. Its value is a list, separated by commas, of CIDRs such
	// as 10.1.0.0/16, addresses and names of interfaces. A rank uses the first element to which an address of its
	// machine belongs, and listens for its peers at the best of these addresses. If EnvNet is unset, the rank
	// listens at the best of all addresses, or at a loopback address if all ranks are on one host.
	EnvNet = "GORUN_NET"
	// EnvTransport is shm, rdma or auto. If EnvTransport is unset, auto applies.
	EnvTransport = "GORUN_TRANSPORT"
	// EnvEncrypt selects which connections between nodes are encrypted. Its value is EncryptYes, EncryptNo or
	// EncryptAuto. If it is unset, EncryptAuto applies.
	EnvEncrypt = "GORUN_ENCRYPT"
	// EnvRDMADevice selects which RDMA adapter of the kernel each rank uses. The value is the adapter's
	// name, such as rxe0, the name of its network interface, or an address of that interface. The value none
	// selects no adapter. If the variable is unset, auto applies, which selects all usable adapters.
	EnvRDMADevice = "GORUN_RDMA_DEVICE"
)

// Values of EnvEncrypt.
const (
	EncryptYes  = "yes"  // all connections, which then use TCP only
	EncryptNo   = "no"   // no connections
	EncryptAuto = "auto" // the connections over TCP, if at least one rank listens at a public address
)

// Policies after the first failure of a rank, as in Job.OnFailure.
const (
	OnFailureKill     = "kill"     // the job ends
	OnFailureContinue = "continue" // the survivors are notified and continue
	OnFailureRespawn  = "respawn"  // the rank is started again, and all ranks enter the next generation
)

// sizeMax is the largest number of ranks of a world. It prevents huge allocations for a damaged
// environment or frame.
const sizeMax = 1 << 24

// NodeID identifies a node. Two ranks have the same NodeID if and only if they may share memory.
type NodeID [16]byte

// Job is the identity of a rank. The counts are numbers of ranks, except where a comment names another unit.
type Job struct {
	Rank, Size           int    // in the world
	LocalRank, LocalSize int    // among the ranks of the node
	NodeRank, Nodes      int    // index of the node, and number of nodes
	Epoch                int    // how often this rank has been started before
	Generation           int    // number of the job's generation, counted from 0
	ID                   string // names the job on every node, unique on the launcher's machine
	Node                 NodeID
	Host                 string // the launcher's name of the node, for messages
	Peers                []int  // ranks of this node, by local rank, ascending; may be nil if they are 0, 1, ...
	Processors           int    // processors that the ranks of this node may use
	OnFailure            string // OnFailureKill, OnFailureContinue or OnFailureRespawn
	NodeRange            int64  // bytes of node memory per rank, a power of two; 0 without node memory
}

// Environ returns the variables that describe j to the rank, without the
// descriptors.
func (j Job) Environ() []string {
	variables := make([]string, 0, 16)
	for name, value := range j.variables() {
		variables = append(variables, name+"="+value)
	}
	return variables
}

// variables yields the names and values of the variables of Environ, in the same order.
func (j Job) variables() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, v := range [...][2]string{
			{EnvRank, strconv.Itoa(j.Rank)},
			{EnvSize, strconv.Itoa(j.Size)},
			{EnvLocalRank, strconv.Itoa(j.LocalRank)},
			{EnvLocalSize, strconv.Itoa(j.LocalSize)},
			{EnvNodeRank, strconv.Itoa(j.NodeRank)},
			{EnvNodes, strconv.Itoa(j.Nodes)},
			{EnvNode, hex.EncodeToString(j.Node[:])},
			{EnvHost, j.Host},
			{EnvPeers, FormatRanks(j.Peers)},
			{EnvJob, j.ID},
			{EnvEpoch, strconv.Itoa(j.Epoch)},
			{EnvGeneration, strconv.Itoa(j.Generation)},
			{EnvProcessors, strconv.Itoa(j.Processors)},
			{EnvOnFailure, j.OnFailure},
			{EnvNodeRange, strconv.FormatInt(j.NodeRange, 10)},
		} {
			if !yield(v[0], v[1]) {
				return
			}
		}
	}
}

// ParseJob reads a job from variables. getenv returns the value of a variable, or "" if the variable is not
// set. The variables EnvHost and EnvPeers may be empty. All other variables of Environ must be set, and the
// values must be consistent.
func ParseJob(getenv func(string) string) (Job, error) {
	e := environment{getenv: getenv}
	j := Job{
		Size:       e.count(EnvSize, 1, sizeMax),
		LocalSize:  e.count(EnvLocalSize, 1, sizeMax),
		Nodes:      e.count(EnvNodes, 1, sizeMax),
		Epoch:      e.count(EnvEpoch, 0, 1<<30),
		Generation: e.count(EnvGeneration, 0, 1<<30),
		ID:         getenv(EnvJob),
		Host:       clip(getenv(EnvHost), 255),
		Processors: e.count(EnvProcessors, 1, 1<<20),
		OnFailure:  getenv(EnvOnFailure),
		NodeRange:  int64(e.count(EnvNodeRange, 0, 1<<46)),
	}
	j.Rank = e.count(EnvRank, 0, j.Size-1)
	j.LocalRank = e.count(EnvLocalRank, 0, j.LocalSize-1)
	j.NodeRank = e.count(EnvNodeRank, 0, j.Nodes-1)
	if node, err := hex.DecodeString(clip(getenv(EnvNode), 2*len(j.Node)+1)); err == nil && len(node) == len(j.Node) {
		j.Node = NodeID(node)
	} else {
		e.fail(EnvNode, "want 32 hexadecimal digits")
	}
	if j.ID == "" {
		e.fail(EnvJob, "want the name of the job")
	}
	if j.OnFailure != OnFailureKill && j.OnFailure != OnFailureContinue && j.OnFailure != OnFailureRespawn {
		e.fail(EnvOnFailure, "want "+OnFailureKill+", "+OnFailureContinue+" or "+OnFailureRespawn)
	}
	peers, err := parseRanks(getenv(EnvPeers), j.LocalSize, j.Size)
	if err == nil && peers != nil && peers[j.LocalRank] != j.Rank {
		err = fmt.Errorf("local rank %d is rank %d", j.LocalRank, peers[j.LocalRank])
	}
	if j.Peers = peers; err != nil {
		e.fail(EnvPeers, err.Error())
	}
	if j.NodeRange&(j.NodeRange-1) != 0 {
		e.fail(EnvNodeRange, "want a power of two")
	}
	return j, e.err
}

// FormatRanks returns ascending numbers, such as ranks, as text of the form "0-3,8". It returns "" for nil.
func FormatRanks(numbers []int) string { return ranges.Format(numbers) }

// NameRanks returns ascending ranks with their noun, such as "rank 3" and "ranks 0-3,8".
func NameRanks(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + FormatRanks(ranks)
	}
	return "ranks " + FormatRanks(ranks)
}

// parseRanks is the inverse of FormatRanks for n ranks of a world of size ranks. It returns nil for "".
func parseRanks(text string, n, size int) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	ranks, err := ranges.Parse(text, ranges.Limits{Below: size, Count: n, Ascending: true})
	if err != nil || len(ranks) != n {
		return nil, fmt.Errorf("want %d ascending ranks of %d", n, size)
	}
	return ranks, nil
}

// environment reads variables and keeps the first error.
type environment struct {
	getenv func(string) string
	err    error
}

func (e *environment) fail(name, want string) {
	if e.err == nil {
		e.err = fmt.Errorf("bootstrap: %s=%q: %s", name, clip(e.getenv(name), 80), want)
	}
}

func (e *environment) count(name string, low, high int) int {
	n, err := strconv.Atoi(e.getenv(name))
	if err != nil || n < low || n > high {
		e.fail(name, fmt.Sprintf("want a number from %d to %d", low, high))
		return low
	}
	return n
}

// descriptors are the inherited file descriptors of a rank.
type descriptors struct{ socket, memory, secret int }

// parseDescriptors reads the value of GORUN_FDS, "socket,memory,secret".
func parseDescriptors(s string) (descriptors, error) {
	var fd [3]int
	parts := strings.Split(s, ",")
	for i := range fd {
		n := -1
		if len(parts) == len(fd) {
			if v, err := strconv.Atoi(parts[i]); err == nil {
				n = v
			}
		}
		if n < 3 || n > 1<<20 {
			return descriptors{}, fmt.Errorf("bootstrap: %s=%q: want three descriptor numbers above 2", EnvFDs, clip(s, 80))
		}
		fd[i] = n
	}
	if fd[0] == fd[1] || fd[1] == fd[2] || fd[0] == fd[2] {
		return descriptors{}, fmt.Errorf("bootstrap: %s=%q: the descriptors must differ", EnvFDs, s)
	}
	return descriptors{socket: fd[0], memory: fd[1], secret: fd[2]}, nil
}

// clip shortens a string to at most n bytes, before it is stored, shown or sent.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
