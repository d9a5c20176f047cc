package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// alive returns true if the connections to the host, and to all hosts through which the launcher reaches it,
// still exist. It returns false if one of them was given up.
func (h *host) alive() bool {
	for ; h != nil; h = h.via {
		if h.reason() != nil {
			return false
		}
	}
	return true
}

// room returns the number of slots of the host that have neither a rank nor a spare.
func (h *host) room() int { return h.slots - len(h.ranks) - h.waiting() }

// house chooses the hosts on which lost ranks will be started again. A rank stays on its host if that host is
// alive. Otherwise the rank gets a host with a spare of its program, or else a host with room. If there is no
// host for a rank, house returns a noRoomError and changes nothing. If a chosen host is lost meanwhile, house returns
// another error, and some of the ranks already have their new hosts.
func (j *job) house(lost []*rank) error {
	if len(j.hosts) == 0 {
		return nil
	}
	homes, taken := make([]*host, len(lost)), lettings{}
	for i, r := range lost {
		if homes[i] = r.remote; !r.remote.alive() {
			homes[i] = taken.best(j.kept, r)
		}
		if homes[i] == nil {
			return &noRoomError{r.number}
		}
		taken.let(homes[i], r)
	}
	for i, r := range lost {
		h := homes[i]
		if h != r.remote {
			if !h.admit(r) {
				return fmt.Errorf("host %s was lost, too", h.name)
			}
			r.leave(h)
		}
		if r.promised = !r.cold && h.spares[r.app] > 0; r.promised {
			h.count(r.app, -1)
		}
	}
	return nil
}

// noRoomError is the error if a rank cannot be started again because no host has room for it.
type noRoomError struct{ rank int }

// Error implements error.
func (e *noRoomError) Error() string {
	return fmt.Sprintf("no other host has room for rank %d: give hosts more slots (-host H:N), or name more", e.rank)
}

// letting counts what lost ranks take from one host: the spares of each program, and the free slots.
type letting struct {
	spares map[*app]int
	room   int
}

// lettings has the letting of each host that house has chosen for a lost rank.
type lettings map[*host]*letting

// best returns the best host for a lost rank, or nil if no host has room for it. If the rank's next process
// may be a spare (rank.cold is false), best prefers hosts with a spare. Of several hosts with a spare, or of
// several without one, it prefers the host with the most free slots.
func (l lettings) best(hosts []*host, r *rank) *host {
	best, most := (*host)(nil), 0
	for _, h := range hosts {
		spares, free := h.spares[r.app], h.room()
		if t := l[h]; t != nil {
			spares, free = spares-t.spares[r.app], free-t.room
		}
		if spares > 0 && !r.cold {
			free += ranksMax // so that a host with a spare precedes all hosts without one
		}
		if h.alive() && free > most {
			best, most = h, free
		}
	}
	return best
}

// let records that a host gets a rank.
func (l lettings) let(h *host, r *rank) {
	t := l[h]
	if t == nil {
		t = &letting{spares: map[*app]int{}}
		l[h] = t
	}
	switch {
	case !r.cold && h.spares[r.app] > t.spares[r.app]:
		t.spares[r.app]++
	case h != r.remote:
		t.room++
	}
}

// admit adds a rank to the host, and prepares its output. It returns false if the host is lost. If the host is lost
// later, endStreams ends the output.
func (h *host) admit(r *rank) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why != nil {
		return false
	}
	h.ranks = append(slices.Clone(h.ranks), r)
	slices.SortFunc(h.ranks, func(a, b *rank) int { return a.number - b.number })
	h.job.wireOutput(h, r)
	return true
}

// leave moves a rank from its lost host to host h, which has admitted the rank.
func (r *rank) leave(h *host) {
	old := r.remote
	old.mu.Lock()
	defer old.mu.Unlock()
	old.ranks = slices.DeleteFunc(slices.Clone(old.ranks), func(other *rank) bool { return other == r })
	r.remote = h
}

// renewHosts begins the next generation of a job on hosts. It starts the ranks in lost on the hosts that
// house has assigned to them. A rank that is in next.Lost and not in lost is not started yet.
func (j *job) renewHosts(next bootstrap.Next, lost []*rank) error {
	plan := link.Next{Generation: j.server.Generation() + 1, Lost: next.Lost, Cause: link.Text(next.Cause), Parts: make([]link.Part, len(j.kept))}
	program := j.programs()
	for at, h := range j.kept {
		part := &plan.Parts[at]
		if len(h.ranks) == 0 || !h.alive() {
			continue
		}
		part.NodeRank = plan.Nodes
		plan.Nodes++
		for i, r := range h.ranks {
			r.local = i
			part.Ranks = append(part.Ranks, r.number)
			if slices.Contains(lost, r) {
				part.Starts = append(part.Starts, link.Start{Rank: link.Rank{Number: r.number, Program: program[r.app]}, Epoch: r.epoch, Cold: r.cold})
			}
		}
	}
	next.Plan, next.Links = link.Encode(plan), map[*bootstrap.Link][]int{}
	for _, h := range nextTo(j.hosts) {
		if h.way != nil { // also of a lost host whose loss was not handled yet: its ranks are not on this node
			next.Links[h.way] = h.numbers()
		}
	}
	begun, err := j.server.Renew(next)
	if err == nil && !begun {
		err = errors.New("a rank has left the job")
	}
	return err
}

// renewal is the answer of a host's agent about the ranks that it was told to start.
type renewal struct {
	host *host
	at   time.Time // when the answer arrived
	link.Renewed
}

// begun acts on the answer of an agent about the ranks of a new generation.
func (j *job) begun(n renewal) {
	if n.Failed != nil {
		how := fmt.Sprintf("host %s cannot go on: %s", n.host.name, n.Failed.Text)
		j.verdict.blame(failure{rank: -1, code: n.Failed.Code, how: how})
		for _, r := range j.ranks {
			if r.remote == n.host && r.starting { // the rank has no process, or one that the agent has killed
				r.revert()
				j.watch.running--
				j.gone(r)
			}
		}
		j.end()
		return
	}
	for _, p := range n.Ranks {
		if p.Number < 0 || p.Number >= len(j.ranks) || j.ranks[p.Number].remote != n.host {
			continue // the rank was lost with its host in the meantime
		}
		r := j.ranks[p.Number]
		r.pid, r.cpus = p.PID, p.Processors
		if r.starting {
			r.starting, r.started = false, n.at
			j.say("rank %d is process %d on %s: %s", r.number, r.pid, r.host, r.path)
		}
		if p.Warm {
			j.used(r.app)
		}
		switch {
		case p.Warm && !r.promised:
			n.host.count(r.app, -1)
		case !p.Warm && r.promised: // the spare has ended; its agent reports that separately
			n.host.count(r.app, 1)
		}
		r.promised = false
	}
	if j.watch.ending {
		j.pass(unix.SIGTERM) // these ranks did not exist when the others got the signal
	}
}
