package main

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// alive reports whether the host, and those through which it is reached, can be used.
func (h *host) alive() bool {
	for ; h != nil; h = h.via {
		if h.reason() != nil {
			return false
		}
	}
	return true
}

// room is for how many more ranks the host has slots.
func (h *host) room() int { return h.slots - len(h.ranks) - h.waiting() }

// house decides where ranks that were lost are started again: where they were if that host lives, else
// where a spare waits for each, else where there is room. It changes nothing if there is an error.
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
			j.rehome(r, h)
		}
		if r.promised = !r.cold && h.spares[r.app] > 0; r.promised {
			h.count(r.app, -1)
		}
	}
	return nil
}

// noRoomError is why ranks cannot be started again for want of a host.
type noRoomError struct{ rank int }

// Error implements error.
func (e *noRoomError) Error() string {
	return fmt.Sprintf("no other host has room for rank %d: give hosts more slots (-host H:N), or name more", e.rank)
}

// letting is what ranks that were lost take of a host.
type letting struct {
	spares map[*app]int
	room   int
}

// lettings are those of the ranks that have been housed.
type lettings map[*host]*letting

// best returns where a rank is started, nil if there is no place for it.
func (l lettings) best(hosts []*host, r *rank) *host {
	best, most := (*host)(nil), 0
	for _, h := range hosts {
		spares, free := h.spares[r.app], h.room()
		if t := l[h]; t != nil {
			spares, free = spares-t.spares[r.app], free-t.room
		}
		if spares > 0 && !r.cold {
			free += ranksMax // they are for this
		}
		if h.alive() && free > most {
			best, most = h, free
		}
	}
	return best
}

// let notes that a host gets a rank.
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

// admit adds a rank to the host, unless that is lost.
func (h *host) admit(r *rank) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why != nil {
		return false
	}
	h.ranks = append(slices.Clone(h.ranks), r)
	slices.SortFunc(h.ranks, func(a, b *rank) int { return a.number - b.number })
	return true
}

// rehome makes a host that of a rank which was lost with its own.
func (j *job) rehome(r *rank, h *host) {
	old := r.remote
	old.mu.Lock()
	old.ranks = slices.DeleteFunc(slices.Clone(old.ranks), func(other *rank) bool { return other == r })
	old.mu.Unlock()
	r.remote = h
	j.wireOutput(h, r)
}

// renewHosts begins the next generation of a job on hosts, in which those that were lost are started which
// have a host.
func (j *job) renewHosts(next bootstrap.Next, lost []*rank) error {
	plan := link.Next{Lost: next.Lost, Cause: link.Text(next.Cause), Parts: make([]link.Part, len(j.kept))}
	j.restarts.generation++
	plan.Generation = j.restarts.generation
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
		if h.way != nil && h.alive() {
			next.Links[h.way] = h.numbers()
		}
	}
	begun, err := j.server.Renew(next)
	if err == nil && !begun {
		err = errors.New("a rank has left the job")
	}
	return err
}

// renewal is what an agent says of the ranks that it was told to start.
type renewal struct {
	host *host
	link.Renewed
}

// begun takes the answer of an agent.
func (j *job) begun(n renewal) {
	if n.Failed != nil {
		how := fmt.Sprintf("host %s cannot go on: %s", n.host.name, n.Failed.Text)
		j.verdict.blame(failure{rank: -1, code: n.Failed.Code, how: how})
		j.end()
		return
	}
	for _, p := range n.Ranks {
		if p.Number < 0 || p.Number >= len(j.ranks) || j.ranks[p.Number].remote != n.host {
			continue // it has been lost since
		}
		r := j.ranks[p.Number]
		r.pid, r.cpus = p.PID, p.Processors
		if r.starting {
			r.starting = false
			j.say("rank %d is process %d on %s: %s", r.number, r.pid, r.host, r.path)
		}
		if p.Warm {
			j.used(r.app)
		}
		switch {
		case p.Warm && !r.promised:
			n.host.count(r.app, -1)
		case !p.Warm && r.promised: // the spare has ended, which is reported, too
			n.host.count(r.app, 1)
		}
		r.promised = false
	}
	if j.watch.ending {
		j.pass(unix.SIGTERM) // they were not there when the others were told
	}
}
