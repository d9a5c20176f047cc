package link

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// Plan contains an agent's orders.
type Plan struct {
	Job       string   // name of the job
	Host      string   // the name by which the launcher knows the agent's host
	Node      [16]byte // the bootstrap.NodeID of the ranks
	Size      int      // number of ranks of the job
	NodeRank  int      // number of this node; 0 if it has no ranks
	Nodes     int      // number of nodes
	OnFailure string   // the value of -on-failure
	// Generations, which is at least 1, bounds the number of generations of the job. Place is the index of the
	// agent's part in Next.Parts. Spares holds, by program, the number of spare processes that the agent must
	// start. Spare processes wait to take the places of lost ranks. Spares is nil if there are no spare
	// processes.
	Generations int
	Place       int
	Spares      []int
	Secret      []byte // the job's secret, SecretBytes long; a salt in its place if Salted is true
	Salted      bool   // the job's secret is derived from the secret of the pods and the salt

	Dir       Text      // the working directory of ranks whose Program has none
	Env       []Text    // environment variables of every rank, in addition to those of the agent
	Programs  []Program // the programs to which Ranks refer
	Ranks     []Rank    // the ranks of this agent, ascending by number
	Input     InputMode // which of the ranks get the standard input
	InputRank int       // the rank that gets the standard input if Input is InputOne
	Bind      placement.Kind
	Merge     bool // the standard error of ranks goes to their standard output
}

// SecretBytes is the length of a job's secret.
const SecretBytes = 32

// Program is a program that some ranks run.
type Program struct {
	Path Text   // path of the executable
	Args []Text // the arguments, of which the first is the name of the program
	Env  []Text // environment variables of this program only
	Dir  Text   // the working directory; "" for that of the plan
}

// Rank is one rank of a plan.
type Rank struct {
	Number  int // the rank in the job
	Program int // index in the plan's programs
}

// InputMode selects the ranks that get the standard input.
type InputMode uint8

// Values of InputMode. They say which ranks of an agent get the standard input.
const (
	InputNone InputMode = iota
	InputOne            // Plan.InputRank, which is on this node
	InputAll
)

func (p Plan) check() error {
	if len(p.Secret) != SecretBytes {
		return fmt.Errorf("secret of %d bytes in place of %d", len(p.Secret), SecretBytes)
	}
	if p.NodeRank < 0 || p.NodeRank >= p.Nodes {
		return fmt.Errorf("node %d of %d nodes", p.NodeRank, p.Nodes)
	}
	if p.Generations < 1 || len(p.Ranks) == 0 && p.Generations == 1 {
		return fmt.Errorf("%d ranks in a job of at most %d generations", len(p.Ranks), p.Generations)
	}
	if p.Place < 0 || len(p.Spares) > 0 && (len(p.Spares) != len(p.Programs) || slices.Min(p.Spares) < 0) {
		return fmt.Errorf("index %d of the agent's part, spares %v for %d programs", p.Place, p.Spares, len(p.Programs))
	}
	if p.Input > InputAll || p.InputRank < 0 || p.InputRank >= p.Size {
		return fmt.Errorf("standard input in mode %d for rank %d of %d ranks", p.Input, p.InputRank, p.Size)
	}
	if p.Bind != placement.None && p.Bind != placement.Core && p.Bind != placement.NUMA {
		return fmt.Errorf("binding of ranks to %q", p.Bind)
	}
	last := -1
	for _, r := range p.Ranks {
		if r.Number <= last || r.Number >= p.Size || r.Program < 0 || r.Program >= len(p.Programs) {
			return fmt.Errorf("rank %d of %d ranks after rank %d, with program %d of %d programs", r.Number, p.Size, last, r.Program, len(p.Programs))
		}
		last = r.Number
	}
	for _, g := range p.Programs {
		if g.Path == "" || len(g.Args) == 0 {
			return fmt.Errorf("program %q with %d arguments", g.Path, len(g.Args))
		}
	}
	return nil
}
