package link

import "fmt"

// Next is the next generation of a job, which begins after ranks were lost: what bootstrap.Server.Renew
// takes as its plan.
type Next struct {
	Generation int
	Lost       []int // ranks, ascending
	Cause      Text
	Nodes      int    // that have ranks
	Parts      []Part // of each agent, by Plan.Place
}

// Part is what an agent has of a generation.
type Part struct {
	NodeRank int   // 0 without ranks
	Ranks    []int // all of the agent, ascending
	Starts   []Start
}

// Start is a rank that an agent starts, or for which it takes a process that waits, unless it is Cold.
type Start struct {
	Rank
	Epoch int  // how often it was started before
	Cold  bool // it gets a process of its own
}

// Renewed says that the ranks of Part.Starts run, in its order, or why not.
type Renewed struct {
	Generation int
	Ranks      []Restarted
	Failed     *Failed // nil if all run
}

// Restarted is a rank at another start.
type Restarted struct {
	Number int
	Process
	Warm bool // the process has waited for a place
}

func (n Next) check() error {
	if n.Generation < 1 || n.Nodes < 1 || len(n.Lost) == 0 {
		return fmt.Errorf("generation %d of %d nodes without %d ranks", n.Generation, n.Nodes, len(n.Lost))
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
