package rdma

import (
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// departure is a peer that was marked down: a process that is gone, or was given up.
// What it had sent may still arrive, and is handed over before its loss: a process
// that dies leaves its sockets to its system, which sends what was written and then
// the end of the stream.
type departure struct {
	peer  int
	cause error
	timer *time.Timer
	// late says that the end of its connections is not waited for any longer, polls how
	// often its messages were looked for since.
	late  bool
	polls int
}

// departurePolls bounds the messages after that, of a peer that goes on sending.
const departurePolls = 64

// depart begins to give up a peer that was marked down.
func (t *Transport) depart(peer int, cause error) {
	if slices.ContainsFunc(t.leaving, func(d *departure) bool { return d.peer == peer }) {
		return
	}
	if p := t.peers[peer]; p != nil && p.end != nil {
		t.lose(peer, cause)
		return
	}
	d := &departure{peer: peer, cause: cause}
	d.timer = time.AfterFunc(t.config.Departure, func() { t.command(func() { d.late = true }) })
	t.leaving = append(t.leaving, d)
}

// dismiss reads what has arrived, and gives up the peers that were marked down when
// that was all.
func (t *Transport) dismiss(h transport.Handler, left *int) int {
	events := 0
	for n := 1; n > 0 && *left > 0; events += n {
		n = 0
		for _, r := range t.polled {
			found, _ := r.completions(h, left)
			n += found
		}
	}
	kept := t.leaving[:0]
	for _, d := range t.leaving {
		if *left > 0 && !t.speaks(d) || d.late && d.polls > departurePolls {
			d.timer.Stop()
			t.lose(d.peer, d.cause)
			events++
			continue
		}
		if d.late {
			d.polls++
		}
		kept = append(kept, d)
	}
	clear(t.leaving[len(kept):])
	t.leaving = kept
	return events
}

// speaks puts a link of a peer in use on which its first messages wait, and reports
// whether messages may still be on their way to the handler.
func (t *Transport) speaks(d *departure) bool {
	for _, l := range t.links {
		if l.peer != d.peer || l.purpose != negotiation.Lane {
			continue
		}
		t.adopt(l)
		// On one that this side has asked for the peer has said nothing before it is used.
		if !d.late && (l.used && !l.retired || !l.conn.Active) {
			return true
		}
	}
	return slices.ContainsFunc(t.stash, func(s delivery) bool { return s.link.peer == d.peer }) ||
		slices.ContainsFunc(t.ends, func(e linkEnd) bool { return e.link.peer == d.peer })
}
