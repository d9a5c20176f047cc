package tier_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/tier"
)

// member is a message.Peer whose messages travel through channels of this process.
type member struct {
	rank  int
	lanes [][]chan []byte // lanes[from][to]
	// sent counts the messages to each destination.
	sent []int
}

func (m *member) Rank() int { return m.rank }
func (m *member) Size() int { return len(m.lanes) }

func (m *member) Send(to int, b []byte) error {
	m.sent[to]++
	m.lanes[m.rank][to] <- append([]byte(nil), b...)
	return nil
}

func (m *member) Recv(from int, b []byte) error {
	got := <-m.lanes[from][m.rank]
	if len(got) != len(b) {
		return fmt.Errorf("rank %d got %d bytes from %d instead of %d", m.rank, len(got), from, len(b))
	}
	copy(b, got)
	return nil
}

func (m *member) Exchange(to int, out []byte, from int, in []byte) error {
	return errors.Join(m.Send(to, out), m.Recv(from, in))
}

// No tier calls Start or Complete.
func (*member) Start(int, []byte, int, []byte) error { return errors.ErrUnsupported }
func (*member) Complete() error                      { return errors.ErrUnsupported }

func (*member) Copy(dst, src []byte) int { return kernel.Copy(dst, src) }

// Scratch returns memory that is filled with nonzero bytes, so that an algorithm that relies on
// zeros fails.
func (m *member) Scratch(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xee
	}
	return b
}

// run runs fn as every rank of a tier. Rank r belongs to group of[r]. If inside is not nil, the
// tier has three levels, and inside[r] is the group of rank r within group of[r]. Function run returns how
// many messages left a group of the outer level, and how many messages were sent in all.
func run(t *testing.T, of, inside []int, fn func(n *tier.Nested) error) (crossed, sent int) {
	t.Helper()
	size := len(of)
	lanes := make([][]chan []byte, size)
	for i := range lanes {
		lanes[i] = make([]chan []byte, size)
		for j := range lanes[i] {
			lanes[i][j] = make(chan []byte, 64)
		}
	}
	members, errs := make([]*member, size), make([]error, size)
	var all sync.WaitGroup
	for r := range size {
		members[r] = &member{rank: r, lanes: lanes, sent: make([]int, size)}
		all.Go(func() { errs[r] = fn(nested(members[r], of, inside)) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	for from, m := range members {
		for to, count := range m.sent {
			require.Empty(t, lanes[from][to], "message from %d to %d left over", from, to)
			sent += count
			if of[from] != of[to] {
				crossed += count
			}
		}
	}
	return crossed, sent
}

// nested returns the tier of one rank.
func nested(p message.Peer, of, inside []int) *tier.Nested {
	parts := tier.Divide(of, p.Rank())
	mine := tier.NewSubset(p, parts.Mine(), parts.Place)
	var inner tier.Tier = &tier.Messages{Peer: mine}
	switch {
	case mine.Size() == 1:
		inner = tier.Alone{Peer: mine}
	case inside != nil:
		numbers, seen := make([]int, mine.Size()), map[int]int{}
		for i, r := range parts.Mine() {
			if _, known := seen[inside[r]]; !known {
				seen[inside[r]] = len(seen)
			}
			numbers[i] = seen[inside[r]]
		}
		inner = nested(mine, numbers, nil)
	}
	if parts.Place > 0 {
		return tier.NewNested(p, parts, inner, nil)
	}
	return tier.NewNested(p, parts, inner, &tier.Messages{Peer: tier.NewSubset(p, parts.Leaders(), parts.Group)})
}
