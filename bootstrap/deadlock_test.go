package bootstrap_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// stuck returns the report of a rank of a world of six ranks. All goroutines of the rank wait. The rank has
// one goroutine for each element of among. The element lists the ranks that could end the wait of that
// goroutine.
func stuck(rank int, among ...string) bootstrap.Doing {
	d := bootstrap.Doing{Rank: rank, Size: 6, Stuck: 1}
	for _, ranks := range among {
		d.Waits = append(d.Waits, bootstrap.Wait{Op: "receive", Among: ranks, Line: "mesh.go:69"})
	}
	return d
}

// finished returns the report of a rank that has left its program.
func finished(rank int) bootstrap.Doing {
	return bootstrap.Doing{Rank: rank, Size: 6, Finished: true, Stuck: 1}
}

// with returns d with the field Lanes set to lanes.
func with(d bootstrap.Doing, lanes ...bootstrap.Lane) bootstrap.Doing {
	d.Lanes = lanes
	return d
}

// serving returns d with the field Serves set to ranks. Messages of these ranks may wake the actors of d's
// rank.
func serving(d bootstrap.Doing, ranks string) bootstrap.Doing {
	d.Serves = ranks
	return d
}

// Deadlocked returns the ranks that can never go on, given the reports.
// It does not return a rank whose wait could be ended by a rank that may go on, by a message in flight, or by
// an unknown rank.
func TestDeadlocked(t *testing.T) {
	waits := func(rank int, among string) bootstrap.Doing { // Stuck is 0, so that the rank may go on by itself
		d := stuck(rank, among)
		d.Stuck = 0
		return d
	}
	for name, c := range map[string]struct {
		list []bootstrap.Doing
		want []int
	}{
		"nobody":                          {nil, nil},
		"a circle":                        {[]bootstrap.Doing{stuck(0, "1"), stuck(1, "2"), stuck(2, "0")}, []int{0, 1, 2}},
		"a circle and one that waits":     {[]bootstrap.Doing{stuck(0, "1"), stuck(1, "0"), stuck(4, "0")}, []int{0, 1, 4}},
		"itself":                          {[]bootstrap.Doing{stuck(3, "3")}, []int{3}},
		"one that computes":               {[]bootstrap.Doing{stuck(0, "1"), {Rank: 1, Size: 6}}, nil},
		"one that does not answer":        {[]bootstrap.Doing{stuck(0, "1"), stuck(1, "2")}, nil},
		"one that may go on":              {[]bootstrap.Doing{stuck(0, "1"), waits(1, "0")}, nil},
		"one that has finished":           {[]bootstrap.Doing{stuck(0, "1"), finished(1)}, []int{0}},
		"any of several":                  {[]bootstrap.Doing{stuck(0, "0-2"), stuck(1, "0"), finished(2)}, []int{0, 1}},
		"any of several, one of which":    {[]bootstrap.Doing{stuck(0, "0-2"), stuck(1, "0")}, nil},
		"a second goroutine":              {[]bootstrap.Doing{stuck(0, "1", "5"), stuck(1, "0")}, nil},
		"both goroutines":                 {[]bootstrap.Doing{stuck(0, "1", "5"), stuck(1, "0"), finished(5)}, []int{0, 1}},
		"unknown ranks":                   {[]bootstrap.Doing{stuck(0, ""), stuck(1, "0")}, nil},
		"ranks that do not exist":         {[]bootstrap.Doing{stuck(0, "7"), stuck(1, "0-6")}, nil},
		"no ranks at all":                 {[]bootstrap.Doing{stuck(0)}, nil},
		"actors that all ranks may wake":  {[]bootstrap.Doing{serving(stuck(0, "1"), "0-1"), stuck(1, "0")}, []int{0, 1}},
		"actors that one may wake":        {[]bootstrap.Doing{serving(stuck(0, "1"), "0-2"), stuck(1, "0"), waits(2, "0")}, nil},
		"actors of one that has finished": {[]bootstrap.Doing{stuck(0, "1"), serving(finished(1), "0-2"), waits(2, "0")}, nil},
		"nothing but actors":              {[]bootstrap.Doing{stuck(0, "1"), serving(stuck(1), "0-1")}, []int{0}},
		"nobody but actors":               {[]bootstrap.Doing{serving(stuck(0), "0-1"), serving(stuck(1), "0-1")}, nil},
		"a report of a rank that is not":  {[]bootstrap.Doing{with(stuck(6, "6"), bootstrap.Lane{Peer: 0, Sent: 1}), stuck(-1, "0")}, nil},
		"a message under way": {[]bootstrap.Doing{
			with(stuck(0, "1"), bootstrap.Lane{Peer: 1, Sent: 5, Received: 3}), with(stuck(1, "0"), bootstrap.Lane{Peer: 0, Sent: 3, Received: 4}),
		}, nil},
		"no message under way": {[]bootstrap.Doing{
			with(stuck(0, "1"), bootstrap.Lane{Peer: 1, Sent: 5, Received: 3}), with(stuck(1, "0"), bootstrap.Lane{Peer: 0, Sent: 3, Received: 5}),
		}, []int{0, 1}},
		"a message of one that has finished": {[]bootstrap.Doing{
			with(finished(0), bootstrap.Lane{Peer: 1, Sent: 1}), stuck(1, "0"),
		}, nil},
		"a message to one that has finished": {[]bootstrap.Doing{
			with(stuck(0, "1"), bootstrap.Lane{Peer: 1, Sent: 1}, bootstrap.Lane{Peer: 9}), finished(1),
		}, nil}, // rank 1 may have answered with a message that is in flight
		"one that has finished and may go on": {[]bootstrap.Doing{stuck(0, "1"), {Rank: 1, Size: 6, Finished: true}}, nil},
		"one that has finished and waits": {[]bootstrap.Doing{
			stuck(0, "1"), {Rank: 1, Size: 6, Finished: true, Stuck: 1, Waits: []bootstrap.Wait{{Op: "receive", Among: "2"}}},
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, bootstrap.Deadlocked(c.list, 6))
		})
	}
}

// In random jobs, Deadlocked returns exactly the ranks that meet the definition of deadlock. By this
// definition, a rank is not deadlocked if a chain of waits leads from it to a rank that may go on.
func TestDeadlockedIsTheLargestSet(t *testing.T) {
	const size = 6
	random := rand.New(rand.NewPCG(1, 2))
	deadlocks := 0
	for range 20_000 {
		var list []bootstrap.Doing
		awaited := make([][][]int, size) // [rank][wait] lists the ranks that could end the wait
		free := make([]bool, size)       // by rank: whether it may go on
		done := make([]bool, size)
		for rank := range size {
			switch random.IntN(10) {
			case 0:
				free[rank] = true
			case 1:
				done[rank] = true
				list = append(list, finished(rank))
			default:
				d := bootstrap.Doing{Rank: rank, Size: size, Stuck: 1}
				for range 1 + random.IntN(2) {
					var among []int
					for other := range size {
						if random.IntN(3) == 0 {
							among = append(among, other)
						}
					}
					free[rank] = free[rank] || len(among) == 0
					awaited[rank] = append(awaited[rank], among)
					d.Waits = append(d.Waits, bootstrap.Wait{Among: bootstrap.FormatRanks(among)})
				}
				list = append(list, d)
			}
		}
		for range size { // a chain of waits has at most size ranks
			for rank := range size {
				for _, among := range awaited[rank] {
					for _, other := range among {
						free[rank] = free[rank] || free[other]
					}
				}
			}
		}
		var want []int
		for rank := range size {
			if !free[rank] && !done[rank] {
				want = append(want, rank)
			}
		}
		if len(want) > 0 {
			deadlocks++
		}
		require.Equal(t, want, bootstrap.Deadlocked(list, size), "%+v", list)
	}
	require.Greater(t, deadlocks, 1000)
}

// withOperation returns d with one additional wait, of a goroutine that gorun has started for an operation of
// the rank.
func withOperation(d bootstrap.Doing, among string) bootstrap.Doing {
	d.Waits = append(d.Waits, bootstrap.Wait{Among: among})
	return d
}

// Summary summarizes the reports of all ranks in one line. The line says which ranks wait, where and for
// which ranks, and which rank is the likely cause.
func TestSummary(t *testing.T) {
	at := func(line string, d bootstrap.Doing) bootstrap.Doing {
		for i := range d.Waits {
			d.Waits[i].Line = line
		}
		return d
	}
	busy := bootstrap.Doing{Rank: 1, Size: 6, Quiet: 40.04, Line: "swarm.go:380", Function: "main.step"}
	brief := busy
	brief.Quiet = 0.2
	for want, list := range map[string][]bootstrap.Doing{
		"": nil,
		"ranks 0,2-3 wait at mesh.go:69 for rank 1; rank 1 has not called gorun for 40s and is at swarm.go:380 (main.step): look there": {
			stuck(3, "1"), stuck(0, "1"), busy, stuck(2, "1"),
		},
		"ranks 0-1 wait at mesh.go:69 for each other":                                     {stuck(0, "1"), stuck(1, "0")},
		"rank 0 waits at a.go:1 for rank 1; rank 1 waits at b.go:2 for rank 0":            {at("a.go:1", stuck(0, "1")), at("b.go:2", stuck(1, "0"))},
		"rank 2 waits at mesh.go:69 for itself":                                           {stuck(2, "2")},
		"rank 2 waits at mesh.go:69 for rank 0":                                           {withOperation(stuck(2, "2"), "0")},
		"rank 2 waits":                                                                    {at("", stuck(2, ""))},
		"ranks 0,2 wait at mesh.go:69 for ranks 1,3-5; rank 1 has left its program":       {stuck(0, "0-5"), stuck(2, "0-5"), finished(1)},
		"rank 0 waits at mesh.go:69 for rank 1; rank 1 waits for no message":              {stuck(0, "1"), {Rank: 1, Size: 6}},
		"rank 0 waits at mesh.go:69 for rank 1; rank 1 runs, at swarm.go:380 (main.step)": {stuck(0, "1"), brief},
		"rank 0 waits at mesh.go:69 for ranks 1,3; rank 1 has not called gorun for 40s and is at swarm.go:380 (main.step): look there; rank 3 has left its program": {
			stuck(0, "1,3"), busy, finished(3),
		},
		"no rank waits: ranks 1-2 run": {brief, {Rank: 2, Size: 6, Quiet: 1.2, Line: "b.go:1", Function: "main.b"}},
		"no rank waits: ranks 1-2 run; rank 1 has not called gorun for 40s and is at swarm.go:380 (main.step); rank 3 has left its program": {
			{Rank: 2, Size: 6, Quiet: 1.2}, busy, finished(3),
		},
		"ranks 1,3 have left their programs": {finished(1), finished(3)},
		"rank 0 waits at a for rank 1; rank 1 waits at b for rank 0; rank 2 waits at c for rank 0; rank 3 waits at d for rank 0; 2 more groups wait elsewhere": {
			at("a", stuck(0, "1")), at("b", stuck(1, "0")), at("c", stuck(2, "0")), at("d", stuck(3, "0")), at("e", stuck(4, "0")), at("f", stuck(5, "0")),
		},
	} {
		require.Equal(t, want, bootstrap.Summary(list))
	}
}

// BenchmarkDeadlocked measures the time of the computation with which the launcher examines the reports of the
// ranks. In "a pipeline", the first rank computes, and each other rank waits for its predecessor. In "all
// connected", each rank also reports a lane to every rank.
func BenchmarkDeadlocked(b *testing.B) {
	const size = 1000
	for name, lanes := range map[string]int{"a pipeline": 0, "all connected": size} {
		b.Run(name, func(b *testing.B) {
			var list []bootstrap.Doing
			for rank := 1; rank < size; rank++ {
				d := bootstrap.Doing{Rank: rank, Size: size, Stuck: 1, Waits: []bootstrap.Wait{{Among: strconv.Itoa(rank - 1)}}}
				for peer := range lanes {
					d.Lanes = append(d.Lanes, bootstrap.Lane{Peer: peer})
				}
				list = append(list, d)
			}
			for b.Loop() {
				if dead := bootstrap.Deadlocked(list, size); len(dead) > 0 {
					b.Fatal("the first rank may go on", dead)
				}
			}
		})
	}
}
