package negotiation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// largest is a naive model: it finds by trial the largest depth that all bounds permit.
func largest(bounds ...int) int {
	for depth := negotiation.MaxDepth; depth > 0; depth-- {
		fits := true
		for _, bound := range bounds {
			fits = fits && depth <= bound
		}
		if fits {
			return depth
		}
	}
	return 0
}

// each calls visit with every combination of n values of the list.
func each(values []int, n int, visit func(v []int)) {
	v := make([]int, n)
	var fill func(i int)
	fill = func(i int) {
		if i == n {
			visit(v)
			return
		}
		for _, x := range values {
			v[i] = x
			fill(i + 1)
		}
	}
	fill(0)
}

// TestDepthsOfAllCombinations tests the 65,536 combinations of wishes and device limits of both sides (256 with
// -short), and the events that providers report.
func TestDepthsOfAllCombinations(t *testing.T) {
	values, combinations := []int{0, 1, 16, 256}, 0
	if testing.Short() {
		values = []int{1, 16}
	}
	each(values, 8, func(v []int) {
		combinations++
		active := negotiation.Limits{
			Want:   negotiation.Depths{IRD: v[0], ORD: v[1]},
			Device: negotiation.Depths{IRD: v[2], ORD: v[3]},
		}
		passive := negotiation.Limits{
			Want:   negotiation.Depths{IRD: v[4], ORD: v[5]},
			Device: negotiation.Depths{IRD: v[6], ORD: v[7]},
		}
		offered := active.Offer()
		// These are the events of three providers. The first provider reports the depths, the second does not
		// know the depths, and the third reports the largest values.
		for _, ev := range []negotiation.Event{
			{ResponderResources: offered.ORD, InitiatorDepth: offered.IRD}, {}, {ResponderResources: 0x3FFF, InitiatorDepth: 0x3FFF},
		} {
			granted := passive.Grant(offered, ev)
			final, err := negotiation.Settle(offered, granted)
			if err != nil {
				t.Fatal(err)
			}
			forward := largest(v[1], v[3], v[4], v[6]) // Reads that the active side issues
			back := largest(v[5], v[7], v[0], v[2])
			if final.ORD != forward || granted.IRD != forward || granted.ORD != back || final.IRD < back || final.IRD > largest(v[2]) {
				t.Fatalf("%v, event %v: active %v, passive %v, want ORD %d forward and %d back", v, ev, final, granted, forward, back)
			}
		}
	})
	require.Equal(t, map[int]int{2: 256, 4: 65536}[len(values)], combinations)
}

// TestDepthsOfAllOffers tests every pair of depths, one byte each, that a request can hold.
func TestDepthsOfAllOffers(t *testing.T) {
	if testing.Short() {
		t.Skip("a search of pure logic: without -short")
	}
	for _, own := range []negotiation.Depths{{IRD: 0, ORD: 0}, {IRD: 1, ORD: 0}, {IRD: 16, ORD: 7}, {IRD: 256, ORD: 256}} {
		l := negotiation.Limits{Want: own, Device: own}
		for ird := range 256 {
			for ord := range 256 {
				granted := l.Grant(negotiation.Depths{IRD: ird, ORD: ord}, negotiation.Event{})
				if granted.ORD != largest(own.ORD, ird) || granted.IRD != largest(own.IRD, ord) {
					t.Fatalf("own %v, offered %d/%d: granted %v", own, ird, ord, granted)
				}
			}
		}
	}
}

func TestEventCrosses(t *testing.T) {
	l := negotiation.Limits{Want: negotiation.Depths{IRD: 16, ORD: 16}, Device: negotiation.Depths{IRD: 16, ORD: 16}}
	offered := negotiation.Depths{IRD: 10, ORD: 12}
	cases := map[string]struct {
		ev   negotiation.Event
		want negotiation.Depths
	}{
		"unknown":                 {negotiation.Event{}, negotiation.Depths{IRD: 12, ORD: 10}},
		"crossed":                 {negotiation.Event{ResponderResources: 12, InitiatorDepth: 10}, negotiation.Depths{IRD: 12, ORD: 10}},
		"lowered by the provider": {negotiation.Event{ResponderResources: 3, InitiatorDepth: 5}, negotiation.Depths{IRD: 3, ORD: 5}},
		"above the record":        {negotiation.Event{ResponderResources: 99, InitiatorDepth: 99}, negotiation.Depths{IRD: 12, ORD: 10}},
		"no reads one way":        {negotiation.Event{ResponderResources: 0, InitiatorDepth: 5}, negotiation.Depths{IRD: 0, ORD: 5}},
		"negative":                {negotiation.Event{ResponderResources: -1, InitiatorDepth: 5}, negotiation.Depths{IRD: 0, ORD: 5}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, l.Grant(offered, c.ev))
		})
	}
}

// TestReplyAboveTheOffer checks that the active side refuses a reply whose ORD exceeds the number of Reads that
// the active side serves (RFC 6581, insufficient IRD).
func TestReplyAboveTheOffer(t *testing.T) {
	l := negotiation.Limits{Want: negotiation.Depths{IRD: 2, ORD: 2}, Device: negotiation.Depths{IRD: 8, ORD: 8}}
	_, err := negotiation.Settle(l.Offer(), negotiation.Depths{IRD: 2, ORD: 3})
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Depth))
	got, err := negotiation.Settle(l.Offer(), negotiation.Depths{IRD: 200, ORD: 2})
	require.NoError(t, err, "siw raises the IRD it serves by itself")
	require.Equal(t, negotiation.Depths{IRD: 2, ORD: 2}, got)
}
