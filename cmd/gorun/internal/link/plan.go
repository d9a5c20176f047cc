package link

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// Plan is what an agent is to do.
type Plan struct {
	Job       string   // name of the job
	Host      string   // the launcher's name of the agent's host
	Node      [16]byte // bootstrap.NodeID that the ranks get
	Size      int      // ranks of the world
	NodeRank  int
	Nodes     int
	OnFailure string
	// Generations is how many the job may have, at least one. Place is the index of the agent's part
	// in the next one. Spares is how many processes wait there for the place of a rank, by program; none is nil.
	Generations int
	Place       int
	Spares      []int
	Secret      []byte // of the job, SecretBytes
	Salted      bool   // Secret is only what makes that of the pods the job's

	Dir       Text      // where the ranks run unless their program says otherwise
	Env       []Text    // variables of every rank, beyond those of the agent
	Programs  []Program // that Ranks refer to
	Ranks     []Rank    // of this agent, ascending by number
	Input     InputMode // which of them get the standard input
	InputRank int       // the one that does with InputOne
	Bind      placement.Kind
	Merge     bool // standard error into standard output
}

// SecretBytes is the length of a job's secret.
const SecretBytes = 32

// Program is what some ranks run.
type Program struct {
	Path Text   // of the executable
	Args []Text // beginning with the name of the program
	Env  []Text // variables of its own
	Dir  Text   // "" for that of the plan
}

// Rank is one rank of a plan.
type Rank struct {
	Number  int // in the world
	Program int // index in the plan's programs
}

// InputMode says which ranks get the standard input.
type InputMode uint8

// Ranks of an agent that get the standard input.
const (
	InputNone InputMode = iota
	InputOne            // Plan.InputRank, which is on this node
	InputAll
)

func (p Plan) check() error {
	if len(p.Secret) != SecretBytes || len(p.Ranks) == 0 && p.Generations == 1 || p.NodeRank < 0 || p.NodeRank >= p.Nodes || p.Input > InputAll {
		return fmt.Errorf("secret of %d bytes, %d ranks, node %d of %d, input %d", len(p.Secret), len(p.Ranks), p.NodeRank, p.Nodes, p.Input)
	}
	if p.Generations < 1 || p.Place < 0 || len(p.Spares) > 0 && (len(p.Spares) != len(p.Programs) || slices.Min(p.Spares) < 0) {
		return fmt.Errorf("generation 1 of %d, part %d, spares %v of %d programs", p.Generations, p.Place, p.Spares, len(p.Programs))
	}
	if p.InputRank < 0 || p.InputRank >= p.Size {
		return fmt.Errorf("input to rank %d of %d", p.InputRank, p.Size)
	}
	if p.Bind != placement.None && p.Bind != placement.Core && p.Bind != placement.NUMA {
		return fmt.Errorf("binding to %q", p.Bind)
	}
	last := -1
	for _, r := range p.Ranks {
		if r.Number <= last || r.Number >= p.Size || r.Program < 0 || r.Program >= len(p.Programs) {
			return fmt.Errorf("rank %d of %d after %d, program %d of %d", r.Number, p.Size, last, r.Program, len(p.Programs))
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
