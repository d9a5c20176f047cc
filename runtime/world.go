package runtime

// World is one rank's membership in a job.
type World struct {
	comm *Comm
}

// Comm returns the communicator of all ranks.
func (w *World) Comm() *Comm { return w.comm }

// Rank returns the number of this rank, 0 to Size-1.
func (w *World) Rank() int { return 0 }

// Size returns the number of ranks of the job.
func (w *World) Size() int { return 1 }

// LocalRank returns the number of this rank among those of its node.
func (w *World) LocalRank() int { return 0 }

// LocalSize returns the number of ranks on this rank's node.
func (w *World) LocalSize() int { return 1 }

// NodeRank returns the number of this rank's node, 0 to Nodes-1.
func (w *World) NodeRank() int { return 0 }

// Nodes returns the number of nodes of the job.
func (w *World) Nodes() int { return 1 }

// Processors returns the number of processors the ranks of this node may use.
func (w *World) Processors() int { return 1 }

// Abort ends the job with this exit code. It does not return when the rank is a
// process; in a Local world the other ranks end with ErrAborted.
func (w *World) Abort(code int) {}

// Close leaves the job. It waits until every rank does so, because a peer may
// still read this rank's memory. The World is of no use afterwards.
func (w *World) Close() error { return nil }

// Explain describes the way to a peer in one line: the lane, the path of large
// messages, and why better ones were not chosen.
func (w *World) Explain(peer int) string { return "" }
