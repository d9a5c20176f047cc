package verbs

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeadlinesAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	base := time.Now()
	var d deadlines
	watched := map[*Endpoint]time.Time{}
	all := make([]*Endpoint, 20)
	for i := range all {
		all[i] = &Endpoint{}
	}
	for range 5000 {
		ep := all[r.IntN(len(all))]
		switch _, ok := watched[ep]; {
		case !ok && r.IntN(2) == 0:
			watched[ep] = base.Add(time.Duration(r.IntN(50)))
			d.add(ep, watched[ep])
		case r.IntN(3) > 0:
			d.remove(ep) // must not fail for an endpoint that was not added
			delete(watched, ep)
		default:
			now := base.Add(time.Duration(r.IntN(50)))
			for due := d.due(now); due != nil; due = d.due(now) {
				require.False(t, watched[due].After(now))
				delete(watched, due)
			}
			for _, at := range watched {
				require.True(t, at.After(now))
			}
		}
		var earliest time.Time
		for _, at := range watched {
			if earliest.IsZero() || at.Before(earliest) {
				earliest = at
			}
		}
		require.Equal(t, earliest, d.earliest)
		require.Equal(t, len(watched) == 0, d.empty())
	}
}
