package link

import "fmt"

// Next describes the next generation of a job, which begins after ranks were lost. It is encoded in
// the field Plan of the argument of bootstrap.Server.Renew.
type Next struct {
	Generation int
	Lost       []int  // the ranks that were lost, ascending
	Cause      Text   // why one of them was lost
	Nodes      int    // the number of nodes that have ranks
	Parts      []Part // the part of each agent, at index Plan.Place
}

// Part describes the ranks of one agent in a generation.
type Part struct {
	NodeRank int     // 0 if the agent has no ranks
	Ranks    []int   // all ranks of the agent, ascending
	Starts   []Start // the ranks that the agent starts for this generation
}

// Start describes a rank that an agent must start. Unless Cold is set, the agent may give the rank a
// spare process.
type Start struct {
	Rank
	Epoch int  // how many times the rank has been started before
	Cold  bool // the rank gets a new process
}

// Renewed reports that the ranks of Part.Starts run, or why they do not run.
type Renewed struct {
	Ranks  []Restarted
	Failed *Failed // nil if all run
}

// Restarted describes a rank that has been started again.
type Restarted struct {
	Number int
	Process
	Warm bool // the process was a spare
}

func (n Next) check() error {
	if n.Generation < 1 || n.Nodes < 1 || len(n.Lost) == 0 {
		return fmt.Errorf("generation %d with %d nodes and %d lost ranks", n.Generation, n.Nodes, len(n.Lost))
	}
	for _, p := range n.Parts {
		if p.NodeRank < 0 || p.NodeRank >= n.Nodes {
			return fmt.Errorf("node %d of %d", p.NodeRank, n.Nodes)
		}
		last := -1
		for _, r := range p.Ranks {
			if r <= last {
				return fmt.Errorf("rank %d after %d", r, last)
			}
			last = r
		}
		for _, s := range p.Starts {
			if s.Program < 0 || s.Epoch < 1 {
				return fmt.Errorf("program %d, epoch %d of rank %d", s.Program, s.Epoch, s.Number)
			}
		}
	}
	return nil
}

func (r Renewed) check() error {
	if r.Failed != nil {
		return r.Failed.check()
	}
	for _, p := range r.Ranks {
		if p.Number < 0 {
			return fmt.Errorf("rank %d", p.Number)
		}
		if err := (Started{[]Process{p.Process}}).check(); err != nil {
			return err
		}
	}
	return nil
}
