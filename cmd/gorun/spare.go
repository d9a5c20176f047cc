package main

import (
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// noRank is the number of a spare. A spare is a process that was started in advance. In runtime.Main it
// waits until it gets the number of a lost rank, and only then calls the program's function.
const noRank = -1

// heldPipe is the reading end of an output pipe of a process that was just started, or of a spare. The output
// stays in the pipe until spawner.present. A spare is presented when it becomes a rank.
type heldPipe struct {
	which stream
	fd    int
}

// addSpare starts a spare of a program on this node. The spare is bound to processors only when it takes the
// place of a rank, because it then gets the processors of this rank. Its GOMAXPROCS is the smallest share of
// processors (Binding.Share) of the node's ranks, unless the user has set GOMAXPROCS.
func (s *spawner) addSpare(a *app, path string) error {
	share := len(s.node.cpus)
	for _, r := range s.node.ranks {
		share = min(share, r.place.Share)
	}
	r := &rank{
		number: noRank, app: a, host: s.describe.Host, path: path, cpus: s.node.cpus,
		place: placement.Binding{Processors: s.node.cpus, Node: -1, Share: share},
	}
	if err := s.onThread(r, s.startSpare); err != nil {
		return fmt.Errorf("start a spare: %w", err)
	}
	s.spares = append(s.spares, r)
	return nil
}

// startSpare starts a spare on the calling thread.
func (s *spawner) startSpare(r *rank) error {
	held := *s
	held.memory = s.null
	held.wires = &wiring{input: inputAgain, merge: s.wires.merge}
	return held.startRank(r)
}

// engage gives a lost rank the process of a spare of the same program, and binds it to the rank's
// processors. It reports whether there was a live spare.
func (s *spawner) engage(r *rank) bool {
	for {
		at := slices.IndexFunc(s.spares, func(spare *rank) bool { return spare.app == r.app })
		if at < 0 {
			return false
		}
		spare := s.spares[at]
		s.spares = slices.Delete(s.spares, at, at+1)
		was := *r
		r.pid, r.child, r.conn, r.held, r.started = spare.pid, spare.child, spare.conn, spare.held, spare.started
		r.served = make(chan struct{}) // set before the reaper can report the end of the rank
		if s.node.children.rename(spare.child, r) {
			s.bindSpare(r, spare.cpus)
			return true
		}
		*r = was // the spare has ended: try the next one
	}
}

// bindSpare binds a rank whose process was a spare to the rank's processors. If that fails, the
// process keeps the processors of the spare.
func (s *spawner) bindSpare(r *rank, was []int) {
	if s.node.bind == placement.None {
		return
	}
	if err := bindProcess(r.pid, r.cpus); err != nil {
		complain("rank %d (%spid %d), which was a spare: %v", r.number, r.where(), r.pid, err)
		r.cpus = was
	}
}

// spareEnded closes the descriptors of a spare that has not become a rank, and describes how it
// ended.
func spareEnded(x exit) string {
	r := x.rank
	r.status, r.clean = x.status, true
	r.closeEnds()
	return fmt.Sprintf("a spare process (%spid %d) %s", r.where(), r.pid, r.how())
}

// closeEnds closes gorun's ends of the pipes and of the socket of a process that could not be started, or that does
// not become a rank.
func (r *rank) closeEnds() {
	for _, p := range r.held {
		_ = unix.Close(p.fd)
	}
	r.held = nil
	_ = r.conn.Close() // an error if there is no socket yet
}

// setSpares parses the value of -spares.
func setSpares(o *options, _ *app, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > ranksMax {
		return fmt.Errorf("want a number of processes from 0 to %d", ranksMax)
	}
	o.spares = n
	return nil
}
