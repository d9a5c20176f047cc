package runtime

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile are values that a malicious rank may send as a length.
var hostile = []uint64{0, wordsMax + 1, 1 << 31, 1 << 40, 1 << 62, math.MaxInt64, 1 << 63, math.MaxUint64}

// together makes a communicator for each case and runs its members. The last member is malicious.
// The function requires that no number stays claimed, and that all other members get an error. They get
// one because the first member that detects the malicious data breaks the communicator.
func together(t *testing.T, cases int, honest func(c *Comm) error, malicious func(c *Comm, number int)) {
	t.Helper()
	require.NoError(t, Local(3, func(w *World) error {
		for number := range cases {
			c, err := w.Comm().Dup()
			if err != nil {
				return err
			}
			if c.Rank() == 2 {
				malicious(c, number)
			} else {
				require.Error(t, honest(c), "case %d", number)
				w.comms.mu.Lock()
				require.Empty(t, w.comms.claimed, "case %d", number)
				w.comms.mu.Unlock()
			}
			if err := meet(w); err != nil {
				return err
			}
		}
		return nil
	}))
}

// giveList sends what a malicious member sends in exchangeLists: a length, and arbitrary words.
func giveList(c *Comm, length uint64, list []int) {
	a := agreement{comm: c, ranks: c.members(), rank: c.rank, tag: tagGraph}
	lengths, err := a.allgather([]uint64{length})
	if err != nil || length > wordsMax {
		return
	}
	longest := 0
	for _, n := range lengths {
		longest = max(longest, int(n))
	}
	words := make([]uint64, longest)
	for i := range min(longest, len(list)) {
		words[i] = uint64(list[i])
	}
	_, _ = a.allgather(words)
}

// lists returns encoded edges that are invalid for any member.
func lists() [][]int {
	return [][]int{
		{},
		{0},
		{1},
		{-1, 0, 0, 0, 0},
		{7, 0, 0, 0, 0},
		{math.MaxInt, 0, 0, 0, 0},
		{math.MinInt, 0, 0, 0, 0},
		{2, 3, 0, 0, 0, 0},
		{2, -1, 0, 0, 0, 0},
		{0, 0, 2, math.MaxInt, 0, 0}, // invalid ranks from here on
		{2, 0, 2, -5, 0, 0, 0},
		{2, 0, 1, 0, 0, 0},
		{0, 2, 1, 0, 0, 0}, // invalid weights from here on
		{0, 0, 0, 0},
		{0, 0, 0, 0, 0, 0},
		{0, 0, 0, 9, 0},
	}
}

// A member that sends invalid edges, or an invalid length, makes CreateGraphAdjacent and
// CreateGraph fail at all other members, and no rank crashes.
func TestHostileEdges(t *testing.T) {
	long := len(hostile) - 1 // without the length 0, which lists contains already
	adjacent := append(lists(), make([][]int, long)...)
	give := func(c *Comm, number int, list []int) {
		if number < len(lists()) {
			giveList(c, uint64(len(list)), list)
			return
		}
		giveList(c, hostile[1+number-len(lists())], nil)
	}
	together(t, len(adjacent), func(c *Comm) error {
		_, err := c.CreateGraphAdjacent([]int{0}, nil, []int{0}, nil, true)
		return err
	}, func(c *Comm, number int) {
		_, err := c.agreeOnGraph("CreateGraphAdjacent", nil, true)
		require.NoError(t, err)
		give(c, number, adjacent[number])
	})
	flat := [][]int{{}, {0, 0}, {0, 0, 0}, {3, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, -1, 0}, {math.MaxInt, math.MinInt, 0, 0}, {0, 0, 0, 0, 0}}
	together(t, len(flat), func(c *Comm) error {
		_, err := c.CreateGraph([]int{0}, []int{1}, []int{1}, nil, false)
		return err
	}, func(c *Comm, number int) {
		_, err := c.agreeOnGraph("CreateGraph", nil, false, true)
		require.NoError(t, err)
		giveList(c, uint64(len(flat[number])), flat[number])
	})
}

// Edges that are exchanged in many rounds arrive unchanged. More edges than the limit are refused.
func TestLongEdges(t *testing.T) {
	require.NoError(t, Local(2, func(w *World) error {
		c := w.Comm()
		var dests []int
		if c.Rank() == 1 {
			dests = make([]int, roundWords/2)
			dests[len(dests)-1] = 1
		}
		g, err := c.CreateGraph([]int{c.Rank()}, []int{len(dests)}, dests, nil, false)
		if err != nil {
			return err
		}
		_, to, err := g.Neighbors()
		require.NoError(t, err)
		require.Equal(t, len(dests), len(to))
		for i, d := range dests {
			if d != to[i] {
				require.Equal(t, d, to[i], i)
			}
		}
		return g.Close()
	}))
	c := &Comm{size: 1}
	_, err := c.flatEdges(nil, nil, make([]int, wordsMax/edgeWords+1), nil)
	require.ErrorIs(t, err, ErrArgument)
}

// A leader that sends an invalid length or invalid ranks of its group makes CreateIntercomm fail at
// the other ranks.
func TestHostileGroups(t *testing.T) {
	words := append([]uint64{3, 2}, hostile...)
	together(t, len(words), func(c *Comm) error {
		mine, err := c.Split(c.Rank(), 0)
		if err != nil {
			return err
		}
		_, err = mine.CreateIntercomm(0, c, 2, 1+c.Rank())
		return err
	}, func(c *Comm, number int) {
		mine, err := c.Split(2, 0)
		require.NoError(t, err)
		for peer := range 2 { // rank 2 is the remote leader for both other ranks
			b := &bridging{local: mine, over: c, peer: c.WorldRank(peer), tag: tagInter, acrossTag: tagCreate + 1 + peer}
			length := make([]uint64, 1)
			switch number {
			case 0: // a rank that does not exist
				_ = b.swap([]uint64{1}, length)
				_ = b.swap([]uint64{uint64(len(words))}, length)
			case 1: // one rank twice
				_ = b.swap([]uint64{2}, length)
				_ = b.swap([]uint64{2, 2}, length)
			default:
				_ = b.swap([]uint64{words[number]}, length)
			}
		}
	})
}
