package rdma

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// candidate is a way to connect with a peer: a rail of this rank, and a rail of the peer in the
// same fabric. In the comments of this package, a way is always such a combination of two rails.
type candidate struct {
	rail *rail
	to   Location
}

// pair has the numbers of the two rails of a connection: own at this rank, and peer at the peer.
// The pair is the same whichever side has requested the connection.
type pair struct{ own, peer uint8 }

func (c candidate) pair() pair { return pair{c.rail.index, c.to.Rail} }

// loss records when and why a connection in use was lost. If look is true, loss records when and
// why a look failed. A look tests whether a better way works (see type comeback).
type loss struct {
	at   time.Time
	err  error
	look bool
}

// trialMost bounds the duration of a look, of a request for a side connection, and of an attempt to connect
// if another candidate is left to try. trialMost is long enough for the retransmissions of the connection
// managers.
const trialMost = 2 * time.Second

// candidates returns the ways to a peer, best first, in the order of pair.worse. It omits the rails of
// this rank on which no connection is made (rail.out). Ways on which a connection was lost or a look has
// failed less than Config.Recovery ago come last. Among these ways, the way with the oldest loss comes
// first.
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

// lookup returns the ways to the peer, or an error that says why there is no way.
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
		return nil, fmt.Errorf("no working adapter of this rank is in a fabric of rank %d (fabrics of this rank: %s; of rank %d: %s): choose by -net a network for TCP that all hosts are on",
			a.peer, a.t.fabrics(), a.peer, fabricsOf(list))
	}
	return all, nil
}

// fabrics returns the names of the fabrics of this rank's rails, and the reason for each rail that
// is not used.
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

// fabricsOf returns the names of the fabrics of a peer's rails.
func fabricsOf(list []Location) string {
	all := make([]string, len(list))
	for i, l := range list {
		all[i] = l.Fabric
	}
	return strings.Join(all, ", ")
}

// owns reports whether this rank itself listens at a location. owns compares the fabrics, too,
// because a peer in another fabric may have the same address.
func (t *Transport) owns(l Location) bool {
	return slices.ContainsFunc(t.rails, func(r *rail) bool { return r.config.Fabric == l.Fabric && r.listener.Address() == l.Address })
}

// reasons returns a text that says why the adapters that are preferred to the adapter in use are
// not used, and why adapters could not be opened. The argument trials maps the number of a rail to a text
// about a failed request, a lost connection or a failed look on the rail.
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
			reason = "the peer requested the connection on another adapter"
		}
		s += fmt.Sprintf("; not %s: %s", r.name(), reason)
	}
	for _, m := range t.missing {
		s += "; not " + m
	}
	return s
}

// apart returns a text that says why this rail can reach no rail of the peer. It returns "" if this
// rail can reach a rail of the peer.
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
