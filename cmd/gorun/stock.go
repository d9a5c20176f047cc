package main

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// unusedMax is the maximum number of consecutive spares of a program that cannot be started, or end without becoming
// a rank. After that, gorun starts no more spares of the program, because they would probably end, too.
const unusedMax = 5

// dealSpares assigns the spares of each program to hosts. The number per program is opts.spares. Each spare
// is assigned to the host that has the most room at that point.
func (j *job) dealSpares() error {
	for n := range j.opts.spares * len(j.opts.apps) {
		h := roomiest(j.hosts)
		if h == nil {
			each := ""
			if len(j.opts.apps) > 1 {
				each = fmt.Sprintf(" of each of %d programs", len(j.opts.apps))
			}
			return fmt.Errorf("-spares %d%s: besides the ranks, the hosts have free slots for only %d spares: give them more slots (-host H:N)", j.opts.spares, each, n)
		}
		h.count(&j.opts.apps[n%len(j.opts.apps)], 1)
	}
	return nil
}

// roomiest returns the host with the most room, or nil if no host has room.
func roomiest(hosts []*host) *host {
	var best *host
	for _, h := range hosts {
		if h.room() > 0 && (best == nil || h.room() > best.room()) {
			best = h
		}
	}
	return best
}

// count adds n to the number of spares of a program on a host.
func (h *host) count(a *app, n int) {
	if h.spares == nil {
		h.spares = map[*app]int{}
	}
	h.spares[a] += n
}

// forgo records the end of a spare of a program on a host. If the host has only spares that are promised to lost ranks,
// one of these ranks gets no spare.
func (h *host) forgo(a *app) {
	if h.spares[a] == 0 {
		if at := slices.IndexFunc(h.ranks, func(r *rank) bool { return r.app == a && r.promised }); at >= 0 {
			h.ranks[at].promised = false
			return
		}
	}
	h.count(a, -1)
}

// waiting returns the number of spares on a host.
func (h *host) waiting() int {
	n := 0
	for _, of := range h.spares {
		n += of
	}
	return n
}

// stock returns the number of spares of each program on a host, nil if there are none.
func (j *job) stock(h *host) []int {
	if h.waiting() == 0 {
		return nil
	}
	all := make([]int, len(j.opts.apps))
	for i := range j.opts.apps {
		all[i] = h.spares[&j.opts.apps[i]]
	}
	return all
}

// stocked returns the number of spares of a program on all living hosts or, in a job without hosts,
// on this machine.
func (j *job) stocked(a *app) int {
	n := 0
	for _, h := range j.kept {
		if h.alive() {
			n += h.spares[a]
		}
	}
	if s := j.restarts.spawner; s != nil {
		for _, r := range s.spares {
			if r.app == a {
				n++
			}
		}
	}
	return n
}

// target returns how many spares of each program to keep. On one machine, that is at most the number of
// restarts left, because each restart replaces one rank. On several hosts, one restart may replace all ranks
// of a lost host.
func (j *job) target() int {
	left := j.opts.restarts - j.restarts.count
	if len(j.hosts) > 0 && left > 0 {
		return j.opts.spares
	}
	return min(j.opts.spares, left)
}

// joined starts new spares in place of the spares that have become ranks. It starts them only after all ranks
// have joined the generation, so that no rank waits for the start of a spare.
func (j *job) joined() {
	if j.server.Formed() {
		j.restock()
	}
}

// restock starts spares of each program up to target. It starts fewer if no host has room, if a start fails, or if
// too many spares of the program could not be started or ended unused.
func (j *job) restock() {
	if j.watch.ending {
		return
	}
	for i := range j.opts.apps {
		a := &j.opts.apps[i]
		for n := j.stocked(a); n < j.target() && j.restarts.unused[a] < unusedMax; n++ {
			if !j.addSpare(i) {
				break
			}
		}
	}
}

// addSpare starts one more spare of a program on this machine, or orders an agent to start one. It returns
// false if the start on this machine fails, or if no host has room.
func (j *job) addSpare(program int) bool {
	a := &j.opts.apps[program]
	if s := j.restarts.spawner; s != nil {
		path := j.ranks[slices.IndexFunc(j.ranks, func(r *rank) bool { return r.app == a })].path
		if err := s.addSpare(a, path); err != nil {
			j.unused(a, err.Error())
			return false
		}
		j.say("a spare is process %d: %s", s.spares[len(s.spares)-1].pid, path)
		return true
	}
	h := roomiest(slices.DeleteFunc(slices.Clone(j.kept), func(h *host) bool { return !h.alive() }))
	if h == nil {
		return false
	}
	h.count(a, 1)
	h.conn.Send(link.KindSpare, link.Encode(link.Spare{Program: program}))
	j.say("a spare starts on host %s: %s", h.name, a.program)
	return true
}

// used records that a spare of a program has become a rank.
func (j *job) used(a *app) { delete(j.restarts.unused, a) }

// unused records that a spare could not be started, or has ended before it became a rank. It prints the argument
// what, which describes the event.
func (j *job) unused(a *app, what string) {
	if j.restarts.unused == nil {
		j.restarts.unused = map[*app]int{}
	}
	j.restarts.unused[a]++
	if j.restarts.unused[a] == unusedMax {
		what += fmt.Sprintf("; gorun starts no more spares of %s, because %d in succession have not become a rank", a.program, unusedMax)
	}
	complain("%s", what)
}

// spareReaped acts on the end of a spare of this machine.
func (j *job) spareReaped(x exit) {
	if j.watch.ending {
		return
	}
	s := j.restarts.spawner
	s.spares = slices.DeleteFunc(s.spares, func(r *rank) bool { return r == x.rank })
	j.unused(x.rank.app, spareEnded(x))
	j.restock()
}

// absence is the report of an agent that a spare has ended or could not be started.
type absence struct {
	host *host
	link.SpareEnded
}

// missed passes a SpareEnded report of the agent to the goroutine that supervises the job.
func (h *host) missed(s link.SpareEnded) {
	select {
	case h.job.absent <- absence{h, s}:
	case <-h.job.watch.ended:
	}
}

// missed acts on the report that a spare of a host has ended or could not be started.
func (j *job) missed(m absence) {
	if m.Program >= len(j.opts.apps) || j.watch.ending {
		return
	}
	a := &j.opts.apps[m.Program]
	m.host.forgo(a)
	j.unused(a, fmt.Sprintf("host %s: %s", m.host.name, m.Text))
	j.restock()
}
