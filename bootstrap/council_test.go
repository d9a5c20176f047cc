package bootstrap_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// act is an event of one rank in the history of an agreement.
type act int

const (
	votes act = iota
	acks      // votes, and has acknowledged all deaths of members so far
	dies
	leaves
)

// judge is a naive reference implementation of Council: it keeps the whole history of one
// agreement.
type judge struct {
	members []int
	voters  map[int][]int // by voter, the deaths that the voter has acknowledged
	gone    map[int]bool
	deaths  []int
}

// over reports whether every member has voted or is gone.
func (j *judge) over() bool {
	for _, m := range j.members {
		if j.voters[m] == nil && !j.gone[m] {
			return false
		}
	}
	return len(j.voters) > 0
}

// lost returns the member that died first among the members whose death some voter has not acknowledged, or -1.
func (j *judge) lost() int {
	for _, d := range j.deaths {
		for _, acknowledged := range j.voters {
			if slices.Contains(j.members, d) && !slices.Contains(acknowledged, d) {
				return d
			}
		}
	}
	return -1
}

// dead returns the members that have died, in the order of members.
func (j *judge) dead() (list []int) {
	for _, m := range j.members {
		if slices.Contains(j.deaths, m) {
			list = append(list, m)
		}
	}
	return list
}

// flagsOf returns the flags for which a rank votes: all bits except the bit of the rank.
func flagsOf(rank int) uint64 { return ^uint64(1 << rank) }

// step is one event of a history.
type step struct {
	rank int
	act  act
}

// play applies a history to a Council and to a judge. After each step, it checks that both decide the same.
// The members of the agreement are all ranks of a world of n ranks except the last rank.
func play(t *testing.T, n int, steps []step) {
	t.Helper()
	c := bootstrap.NewCouncil(n)
	j := &judge{voters: map[int][]int{}, gone: map[int]bool{}}
	for m := range n - 1 {
		j.members = append(j.members, m)
	}
	decided := false
	for _, s := range steps {
		var made []*bootstrap.Decision
		switch s.act {
		case votes, acks:
			v := bootstrap.Vote{Comm: 7, Round: 1, Purpose: bootstrap.PurposeFlags, Flags: flagsOf(s.rank), Members: j.members}
			if s.act == acks {
				v.Acknowledged = j.dead()
			}
			j.voters[s.rank] = append([]int{-1}, v.Acknowledged...) // an entry that is not nil marks the rank as a voter
			d, err := c.Vote(s.rank, v)
			require.NoError(t, err)
			if d != nil {
				made = append(made, d)
			}
		case dies:
			j.deaths, j.gone[s.rank] = append(j.deaths, s.rank), true
			made = c.Died(s.rank)
		case leaves:
			j.gone[s.rank] = true
			made = c.Left(s.rank)
		}
		if decided || !j.over() {
			require.Empty(t, made, "%v at %v", steps, s)
			continue
		}
		decided = true
		require.Len(t, made, 1, "%v at %v", steps, s)
		flags := ^uint64(0)
		for rank := range j.voters {
			flags &= flagsOf(rank)
		}
		d := made[0]
		require.Equal(t, []any{flags, uint32(len(j.deaths)), j.lost(), j.dead()}, []any{d.Flags, d.Epoch, d.Lost, d.Dead}, "%v", steps)
	}
	require.True(t, decided || len(j.voters) == 0, "%v", steps)
}

// TestEveryHistoryOfAnAgreement compares the Council with the judge for every interleaving of the events of
// three members and of one rank that is not a member. A member votes, acknowledges and votes, dies before or
// after its vote, or leaves. The other rank dies or does nothing.
func TestEveryHistoryOfAnAgreement(t *testing.T) {
	const n = 4
	fates := [][]act{{votes}, {acks}, {dies}, {leaves}, {votes, dies}, {acks, dies}}
	histories := 0
	var order func(left [][]step, done []step)
	order = func(left [][]step, done []step) {
		over := true
		for i, own := range left {
			if len(own) == 0 {
				continue
			}
			over = false
			next := slices.Clone(left)
			next[i] = own[1:]
			order(next, append(slices.Clone(done), own[0]))
		}
		if over {
			histories++
			play(t, n, done)
		}
	}
	for i := range len(fates) * len(fates) * len(fates) * 2 {
		own := make([][]step, n)
		for rank := range n - 1 {
			for _, a := range fates[i%len(fates)] {
				own[rank] = append(own[rank], step{rank, a})
			}
			i /= len(fates)
		}
		if i%2 == 1 {
			own[n-1] = []step{{n - 1, dies}}
		}
		order(own, nil)
	}
	require.Greater(t, histories, 3000)
}

// Agreements in communicators that share ranks do not wait for each other. Their new communicators get
// different numbers.
func TestOverlappingAgreements(t *testing.T) {
	c := bootstrap.NewCouncil(3)
	vote := func(rank int, comm uint64, members ...int) *bootstrap.Decision {
		d, err := c.Vote(rank, bootstrap.Vote{Comm: comm, Round: 1, Purpose: bootstrap.PurposeShrink, Members: members})
		require.NoError(t, err)
		return d
	}
	require.Nil(t, vote(0, 1, 0, 1))
	require.Nil(t, vote(1, 2, 1, 2))
	require.Nil(t, vote(2, 3, 0, 2))
	first := vote(1, 1, 0, 1)
	require.NotNil(t, first)
	made := c.Died(0)
	require.Len(t, made, 1)
	require.Equal(t, []int{0}, made[0].Dead)
	last := vote(2, 2, 1, 2)
	require.Empty(t, last.Dead)
	require.Len(t, map[uint32]bool{first.Number: true, made[0].Number: true, last.Number: true}, 3)
	require.GreaterOrEqual(t, first.Number, uint32(bootstrap.FirstShrunk))
}

// The Council refuses a vote that no member can have given. If the votes in one agreement have different
// purposes, the decision has no purpose, so that every voter detects the mismatch.
func TestWrongVotes(t *testing.T) {
	c := bootstrap.NewCouncil(4)
	good := bootstrap.Vote{Comm: 1, Round: 1, Purpose: bootstrap.PurposeFlags, Members: []int{0, 2}}
	for name, spoil := range map[string]func(*bootstrap.Vote){
		"no purpose":            func(v *bootstrap.Vote) { v.Purpose = 0 },
		"unknown purpose":       func(v *bootstrap.Vote) { v.Purpose = 9 },
		"no member":             func(v *bootstrap.Vote) { v.Members = []int{1, 2} },
		"member out of range":   func(v *bootstrap.Vote) { v.Members = []int{0, 4} },
		"foreign death":         func(v *bootstrap.Vote) { v.Acknowledged = []int{1} },
		"no members":            func(v *bootstrap.Vote) { v.Members = nil },
		"members far out of it": func(v *bootstrap.Vote) { v.Members = []int{0, 1 << 40} },
	} {
		v := good
		spoil(&v)
		_, err := c.Vote(0, v)
		require.ErrorIs(t, err, bootstrap.ErrMalformed, name)
	}
	d, err := c.Vote(0, good)
	require.NoError(t, err)
	require.Nil(t, d)
	good.Purpose = bootstrap.PurposeShrink
	d, err = c.Vote(2, good)
	require.NoError(t, err)
	require.Zero(t, d.Purpose)
	require.Zero(t, d.Number)
}

// A vote with a different list of members, or from a rank that is not a member, does not count in the
// agreement of the other voters. The agreement of the other voters does not wait for a rank that is not a
// member.
func TestVotesOfOtherMembers(t *testing.T) {
	right := []int{0, 1, 2}
	for _, wrong := range [][]int{{3}, {0, 3}, {0, 1, 2, 3}, {2}, {1, 2}, {2, 3}} {
		c := bootstrap.NewCouncil(4)
		vote := func(rank int, members []int) *bootstrap.Decision {
			d, err := c.Vote(rank, bootstrap.Vote{
				Comm: 1, Round: 1, Purpose: bootstrap.PurposeFlags, Flags: flagsOf(rank), Members: members,
			})
			require.NoError(t, err)
			return d
		}
		liar := wrong[len(wrong)-1]
		d := vote(liar, wrong)
		require.Equal(t, len(wrong) == 1, d != nil, "%v: only a vote in which the voter is the only member decides at once", wrong)
		require.Nil(t, vote(0, right), "%v", wrong)
		require.Nil(t, vote(1, right), "%v: rank 2 has not voted", wrong)
		if liar == 2 {
			made := c.Died(2)
			require.Len(t, made, 1, "%v", wrong)
			require.Equal(t, flagsOf(0)&flagsOf(1), made[0].Flags, "%v: the vote for others does not count", wrong)
			continue
		}
		d = vote(2, right)
		require.NotNil(t, d, "%v", wrong)
		require.Equal(t, flagsOf(0)&flagsOf(1)&flagsOf(2), d.Flags, "%v", wrong)
		require.Empty(t, d.Dead, "%v", wrong)
	}
}

// Council.Revoke reports a revocation as new only once. It reports the same revocation as new again only
// after thousands of other revocations have displaced it.
func TestRevocationsAreRemembered(t *testing.T) {
	c := bootstrap.NewCouncil(2)
	require.True(t, c.Revoke(5))
	require.False(t, c.Revoke(5))
	for i := range uint64(1 << 13) {
		require.True(t, c.Revoke(100+i))
	}
	require.True(t, c.Revoke(5))
	require.False(t, c.Revoke(100+1<<13-1))
}

// After some thousands of votes of a rank in agreements that do not end, the Council refuses further votes of
// that rank. It still accepts votes of other ranks. The rank may vote again when some of these agreements
// have ended.
func TestVotesWithoutEnd(t *testing.T) {
	c := bootstrap.NewCouncil(4)
	vote := func(rank int, round uint32, members ...int) (*bootstrap.Decision, error) {
		return c.Vote(rank, bootstrap.Vote{Comm: 1, Round: round, Purpose: bootstrap.PurposeFlags, Members: members})
	}
	last := uint32(0)
	for ; ; last++ {
		d, err := vote(0, last, 0, 1)
		require.Nil(t, d)
		if err != nil {
			require.ErrorIs(t, err, bootstrap.ErrMalformed)
			break
		}
		require.Less(t, last, uint32(1<<13))
	}
	require.Greater(t, last, uint32(1<<10))
	_, err := vote(1, last+1, 1, 2)
	require.NoError(t, err)
	d, err := vote(1, 5, 0, 1)
	require.NoError(t, err)
	require.NotNil(t, d)
	_, err = vote(0, last, 0, 1)
	require.NoError(t, err)
	_, err = vote(0, last+2, 0, 1)
	require.ErrorIs(t, err, bootstrap.ErrMalformed)
	require.Len(t, c.Died(1), int(last))
	_, err = vote(0, last+2, 0, 3)
	require.NoError(t, err)
}
