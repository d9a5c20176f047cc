package rdma

import (
	"fmt"
	"strings"
	"time"
)

// Known reports whether the transport has state of a peer, for example because Endpoint was called for
// the peer, or because the peer has requested a connection. Known is called under the engine's lock.
func (t *Transport) Known(peer int) bool {
	return t.Reach(peer) == nil && t.peers[peer] != nil
}

// Explain describes in one line how messages and bulk data are transferred to a peer: the provider,
// both addresses, and the negotiated terms.
func (t *Transport) Explain(peer int) string {
	if err := t.Reach(peer); err != nil {
		return err.Error()
	}
	p, r := t.peers[peer], t.rails[0]
	if p != nil {
		r = p.rail
	}
	a := &r.limits
	s := fmt.Sprintf("rank %d: rdma by %s on %s (%s%s)", peer, a.Provider, a.Interface, a.Transport, r.encryption())
	switch {
	case p == nil || p.connects == 0 && p.end == nil:
		return s + ", not connected so far" + t.silence(peer)
	case p.connects == 0:
		return fmt.Sprintf("%s, never connected: %v", s, p.end)
	}
	bulk := "by Read"
	if p.depth == 0 {
		bulk = "by Write (no Reads were negotiated)"
	}
	s = fmt.Sprintf("%s, %s, %v, window now %d out and %d in, bulk %s", s, p.route, p.terms, p.flow.Credits(), p.flow.Window(), bulk)
	if p.connects > 1 {
		s += fmt.Sprintf(", connected %d times", p.connects)
	}
	if p.end != nil {
		return fmt.Sprintf("%s, ended: %v", s, p.end)
	}
	if p.link == nil {
		s += ", not connected now" + t.silence(peer)
	} else if i, err := p.link.endpoint.Query(); err == nil && i.Explained != "" {
		s += ", " + i.Explained
	}
	return s + p.side.explain() + t.others(p)
}

// encryption returns a comma and a text that says that the connections of a rail are encrypted. It
// returns "" if they are not encrypted.
func (r *rail) encryption() string {
	if r.encrypted {
		return ", encrypted by TLS 1.3"
	}
	return ""
}

// others returns a text that says why other adapters are not in use with a peer.
func (t *Transport) others(p *endpoint) string {
	if len(t.rails) == 1 {
		return t.reasons(p.rail, nil, nil)
	}
	peer, err := t.config.Lookup(p.peer)
	if err != nil {
		return ""
	}
	return t.reasons(p.rail, peer, p.trials)
}

// ExplainMemory describes in one line how the memory of Gets, Puts and exposures is registered. It
// returns "" if registrations pin nothing.
func (t *Transport) ExplainMemory() string {
	var all []string
	for _, r := range t.rails {
		if line := r.registered.explain(); line != "" {
			all = append(all, r.name()+": "+line)
		}
	}
	return strings.Join(all, "; ")
}

// silenceUnit is the unit to which the duration of a silence is rounded in texts.
const silenceUnit = 10 * time.Millisecond

// Silence returns a text that says for how long a peer has not answered, if the transport goes on
// waiting for the peer after Config.GiveUp. For every other peer it returns "".
func (t *Transport) Silence(peer int) string {
	if t.Reach(peer) != nil || t.peers[peer] == nil || t.peers[peer].silent.IsZero() {
		return ""
	}
	return fmt.Sprintf("no answer for %v, but its host accepts connections", time.Since(t.peers[peer].silent).Round(silenceUnit))
}

// Search describes the search for a connection to a peer, as long as no connection is established: the
// addresses that were tried, how often each was tried, and the result. It returns "" if no connection is
// requested.
func (t *Transport) Search(peer int) string {
	if t.Reach(peer) != nil || t.peers[peer] == nil {
		return ""
	}
	return t.peers[peer].search
}

// Position returns how many eager frames were enqueued in the lane to a peer, and how many eager frames
// arrived from the peer, without duplicates. Both numbers are modulo 65536.
func (t *Transport) Position(peer int) (sent, received uint16) {
	if t.Reach(peer) != nil || t.peers[peer] == nil {
		return 0, 0
	}
	return t.peers[peer].flow.Position()
}

// silence returns a comma and the text of Silence. It returns "" if Silence returns "".
func (t *Transport) silence(peer int) string {
	if s := t.Silence(peer); s != "" {
		return ", " + s
	}
	return ""
}
