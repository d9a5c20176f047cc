package rdma

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// candidate is a way to ask a peer for a connection: an own rail, and a rail of the peer in
// the same fabric.
type candidate struct {
	rail *rail
	to   Location
}

// pair names the two rails of a connection, whichever side has asked for it.
type pair struct{ own, peer uint8 }

func (c candidate) pair() pair { return pair{c.rail.index, c.to.Rail} }

// loss is when and why a connection in use was lost, or a look at a better way failed.
type loss struct {
	at   time.Time
	err  error
	look bool
}

// trialMost bounds an attempt on an adapter when there is another way: long enough for the
// connection managers' own retransmissions.
const trialMost = 2 * time.Second

// candidates are the ways to a peer, best first: in the order of both ends' rails; but those
// whose connection was lost lately come last, the oldest loss first.
func (a *connector) candidates(list []Location) []candidate {
	var all []candidate
	for _, r := range a.t.rails {
		if r.out() != nil {
			continue
		}
		for _, to := range list {
			if to.Fabric == r.config.Fabric {
				all = append(all, candidate{r, to})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y candidate) int { return cmp.Compare(x.pair().worse(), y.pair().worse()) })
	now := time.Now()
	for p, lost := range a.losses {
		if now.Sub(lost.at) >= a.t.config.Recovery {
			delete(a.losses, p)
		}
	}
	slices.SortStableFunc(all, func(x, y candidate) int {
		return a.losses[x.pair()].at.Compare(a.losses[y.pair()].at)
	})
	return all
}

// lookup returns the ways to the peer, or why there are none.
func (a *connector) lookup() ([]candidate, error) {
	list, err := a.t.config.Lookup(a.peer)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("rank %d has no address", a.peer)
	}
	all := a.candidates(list)
	if len(all) == 0 {
		return nil, fmt.Errorf("no adapter of this rank that works is in a fabric of rank %d (here: %s; there: %s): all ranks need a network for TCP, which -net chooses",
			a.peer, a.t.fabrics(), fabricsOf(list))
	}
	return all, nil
}

// fabrics names the own ones, with why one is not used.
func (t *Transport) fabrics() string {
	all := make([]string, len(t.rails))
	for i, r := range t.rails {
		all[i] = r.config.Fabric
		if err := r.out(); err != nil {
			all[i] += fmt.Sprintf(" (%v)", err)
		}
	}
	return strings.Join(all, ", ")
}

// fabricsOf names those of a peer.
func fabricsOf(list []Location) string {
	all := make([]string, len(list))
	for i, l := range list {
		all[i] = l.Fabric
	}
	return strings.Join(all, ", ")
}

// owns reports whether the rank itself listens at a location: in another fabric a peer may have
// the same address.
func (t *Transport) owns(l Location) bool {
	return slices.ContainsFunc(t.rails, func(r *rail) bool { return r.config.Fabric == l.Fabric && r.listener.Address() == l.Address })
}

// reasons says of each adapter why it is not the one in use: of those before it, and of those
// that could not be opened. trials are what became of attempts on them, by rail.
func (t *Transport) reasons(used *rail, peer []Location, trials map[uint8]string) string {
	s := ""
	for _, r := range t.rails {
		if r.index >= used.index {
			break
		}
		reason := trials[r.index]
		if err := r.out(); err != nil {
			reason = err.Error()
		} else if why := r.apart(peer); why != "" {
			reason = why
		} else if reason == "" {
			reason = "the peer asked on another one"
		}
		s += fmt.Sprintf("; not %s: %s", r.name(), reason)
	}
	for _, m := range t.missing {
		s += "; not " + m
	}
	return s
}

// apart says why no rail of a peer can be reached from this one, or "".
func (r *rail) apart(peer []Location) string {
	var others []string
	for _, l := range peer {
		if l.Fabric == r.config.Fabric {
			return ""
		}
		if l.Fabric != FabricTCP {
			others = append(others, l.Fabric)
		}
	}
	if others == nil {
		return "the peer has no adapter"
	}
	return fmt.Sprintf("it is in fabric %s, the peer's in %s", r.config.Fabric, strings.Join(others, ", "))
}
