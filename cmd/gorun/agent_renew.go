package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// renew begins the next generation of the job on this host. body is a link.Next, which describes the
// generation. renew tells the launcher which ranks it has started, or why it could not start them.
func (a *agent) renew(body []byte) error {
	n, err := link.Decode[link.Next](body)
	if err == nil && a.place >= len(n.Parts) {
		err = fmt.Errorf("part %d of %d: %w", a.place, len(n.Parts), link.ErrMalformed)
	}
	if err != nil {
		return err
	}
	part := &n.Parts[a.place]
	started, err := a.settle(part)
	if err != nil {
		return err
	}
	s := a.spawner
	s.describe.Generation, s.describe.NodeRank, s.describe.Nodes = n.Generation, part.NodeRank, n.Nodes
	err = s.renew(bootstrap.Next{Lost: n.Lost, Cause: string(n.Cause), Generation: n.Generation}, started, func(next bootstrap.Next) error {
		a.mu.Lock()
		s.mapRecords()
		a.mu.Unlock()
		// While a frame of a rank waits for room in the window, the goroutine that serves the rank holds a lock that
		// Renew needs. Room comes from credit, which only this goroutine receives, after Renew has returned.
		// Therefore lend lets such frames be sent without room.
		a.up.lend(true)
		defer a.up.lend(false)
		return a.relay.Renew(next, part.Ranks)
	})
	answer := link.Renewed{}
	if err = scarce(err, len(part.Ranks)); err != nil {
		answer.Failed = &link.Failed{Code: exitCode(err), Text: err.Error()}
		a.mu.Lock()
		for _, r := range started {
			r.signal(unix.SIGKILL)
		}
		a.mu.Unlock()
	} else {
		for _, r := range started {
			answer.Ranks = append(answer.Ranks, link.Restarted{Number: r.number, Process: link.Process{PID: r.pid, Processors: r.cpus}, Warm: r.warm})
		}
	}
	a.conn.Send(link.KindRenewed, link.Encode(answer))
	return s.presentAll(started) // after the answer, which has the process IDs for the tags of the output
}

// settle replaces the ranks of the node by the ranks of a link.Part, and returns the ranks that have to be
// started. A rank that was on this host before gets the same processors again. A rank that is new here may use
// all processors of the node.
func (a *agent) settle(part *link.Part) (started []*rank, err error) {
	starts := map[int]link.Start{}
	for _, s := range part.Starts {
		starts[s.Number] = s
	}
	old := map[int]*rank{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.node.ranks {
		old[r.number] = r
	}
	ranks := make([]*rank, 0, len(part.Ranks))
	for i, number := range part.Ranks {
		r := old[number]
		if s, again := starts[number]; again && s.Program < len(a.programs) {
			next := a.newRank(s.Rank, a.spawner.describe.Host)
			next.epoch, next.cold, next.cpus = s.Epoch, s.Cold, a.node.cpus
			next.place = placement.Binding{Processors: a.node.cpus, Node: -1, Share: max(1, len(a.node.cpus)/len(part.Ranks))}
			if r != nil {
				next.cpus, next.place = r.cpus, r.place
				r.unmapRecord()
			}
			r, started = next, append(started, next)
		}
		if r == nil {
			return nil, fmt.Errorf("rank %d is not of this host: %w", number, link.ErrMalformed)
		}
		r.local = i
		ranks = append(ranks, r)
	}
	a.node.ranks = ranks
	return started, nil
}
