package rdma

import (
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// departure is a peer that was marked down: its process has ended, or the peer was given up. The
// messages that the peer had sent may still arrive, and are delivered before the loss of the peer
// is reported. When a process dies, its operating system still sends the bytes that the process has
// written to its sockets, and then the end of the stream.
type departure struct {
	peer  int
	cause error
	timer *time.Timer
	// late reports whether the time to wait for the end of the peer's connections is over. polls
	// counts the polls for messages of the peer after that time.
	late  bool
	polls int
}

// departurePolls bounds departure.polls, for a peer that goes on sending.
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

// dismiss reads the messages that have arrived. Then it gives up each peer that was marked down if no
// more messages can arrive from the peer, or if more than departurePolls polls have passed since the
// departure became late. dismiss returns the number of events.
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

// speaks reports whether messages of the peer may still be on their way to the handler. Once the departure is
// late, only messages that have arrived count. If the first messages of the peer wait on a link that is not in
// use, speaks puts the link in use.
func (t *Transport) speaks(d *departure) bool {
	for _, l := range t.links {
		if l.peer != d.peer || l.purpose != negotiation.Lane {
			continue
		}
		t.adopt(l)
		// On a link that this side has requested, the peer sends nothing before this side puts the
		// link in use.
		if !d.late && (t.peers[d.peer].link == l || !l.conn.Active) {
			return true
		}
	}
	return slices.ContainsFunc(t.stash, func(s delivery) bool { return s.link.peer == d.peer }) ||
		slices.ContainsFunc(t.ends, func(e linkEnd) bool { return e.link.peer == d.peer })
}
