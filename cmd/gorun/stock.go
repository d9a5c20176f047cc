package main

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// unusedMax is how many spares of a program in a row may end before they have become a rank: after them no
// other is started, because it would end, too.
const unusedMax = 5

// dealSpares decides which hosts have the spares, so many of each program: those with the most room.
func (j *job) dealSpares() error {
	for n := range j.opts.spares * len(j.opts.apps) {
		h := roomiest(j.hosts)
		if h == nil {
			each := ""
			if len(j.opts.apps) > 1 {
				each = fmt.Sprintf(" of each of %d programs", len(j.opts.apps))
			}
			return fmt.Errorf("-spares %d%s: the hosts have room for %d more than the ranks: give them more slots (-host H:N)", j.opts.spares, each, n)
		}
		h.count(&j.opts.apps[n%len(j.opts.apps)], 1)
	}
	return nil
}

// roomiest returns the host with the most room, nil if none has any.
func roomiest(hosts []*host) *host {
	var best *host
	for _, h := range hosts {
		if h.room() > 0 && (best == nil || h.room() > best.room()) {
			best = h
		}
	}
	return best
}

// count adds to the spares of a host.
func (h *host) count(a *app, n int) {
	if h.spares == nil {
		h.spares = map[*app]int{}
	}
	h.spares[a] += n
}

// waiting is how many spares the host has.
func (h *host) waiting() int {
	n := 0
	for _, of := range h.spares {
		n += of
	}
	return n
}

// stock returns the spares of a host by program, nil if it has none.
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

// stocked is how many spares of a program there are.
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

// target is how many spares of each program are of use: no more than there may be losses. A host that is lost
// is one of these, with any number of ranks.
func (j *job) target() int {
	left := j.opts.restarts - j.restarts.count
	if len(j.hosts) > 0 && left > 0 {
		return j.opts.spares
	}
	return min(j.opts.spares, left)
}

// joined starts spares for those that have become ranks, once all ranks are in the generation: the others do
// not wait for it.
func (j *job) joined() {
	if j.server.Formed() {
		j.restock()
	}
}

// restock starts spares until there are as many as are of use, or no host has room for one.
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

// addSpare starts one more spare of a program, and reports whether that could be done.
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

// used notes that a spare of a program has become a rank.
func (j *job) used(a *app) { delete(j.restarts.unused, a) }

// unused notes that a spare has not become a rank, and says what happened to it.
func (j *job) unused(a *app, what string) {
	if j.restarts.unused == nil {
		j.restarts.unused = map[*app]int{}
	}
	j.restarts.unused[a]++
	if j.restarts.unused[a] == unusedMax {
		what += fmt.Sprintf("; no other is started: %d of %s have ended before they were of use", unusedMax, a.program)
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

// absence is what an agent says of a spare that has ended.
type absence struct {
	host *host
	link.SpareEnded
}

// missed takes what the host's agent says of a spare.
func (h *host) missed(s link.SpareEnded) {
	select {
	case h.job.absent <- absence{h, s}:
	case <-h.job.watch.ended:
	}
}

// missed acts on the end of a spare of a host.
func (j *job) missed(m absence) {
	if m.Program >= len(j.opts.apps) || j.watch.ending {
		return
	}
	a := &j.opts.apps[m.Program]
	m.host.count(a, -1)
	j.unused(a, fmt.Sprintf("host %s: %s", m.host.name, m.Text))
	j.restock()
}
