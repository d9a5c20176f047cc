package bootstrap_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// cluster returns the encoded cards of a job with perNode ranks on each node.
func cluster(tb testing.TB, ranks, perNode int) [][]byte {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	cards := make([][]byte, ranks)
	for rank := range cards {
		node := rank / perNode
		c := bootstrap.Card{
			Rank: rank, PID: 1000 + 37*node%4096 + rank%perNode*3, Slot: rank % perNode, Host: fmt.Sprintf("node%05d", node), Provider: "iwarp",
			Addresses: []bootstrap.Address{{IP: [16]byte{10: 255, 11: 255, 12: 10, 13: byte(node >> 8), 14: byte(node)}, Port: uint16(32768 + random.IntN(28000))}},
		}
		binary.LittleEndian.PutUint64(c.Node[:], uint64(node)*0x9e3779b97f4a7c15)
		cards[rank] = encoded(tb, c)
	}
	return cards
}

func packed(tb testing.TB, cards [][]byte) []byte {
	tb.Helper()
	b, err := bootstrap.PackCards(cards)
	require.NoError(tb, err)
	return b
}

// UnpackCards returns the cards that PackCards has packed, even if ranks are missing. It refuses the cards
// for a world that is too small for the last rank.
func TestPackedCardsRoundTrip(t *testing.T) {
	for name, cards := range map[string][][]byte{
		"none":    {},
		"one":     {encoded(t, richCard(0))},
		"a gap":   {encoded(t, richCard(0)), nil, nil, encoded(t, plainCard(3))},
		"back":    {nil, encoded(t, plainCard(1)), encoded(t, richCard(2)), encoded(t, plainCard(3)), encoded(t, richCard(4))},
		"cluster": cluster(t, 1000, 7),
	} {
		got, err := bootstrap.UnpackCards(packed(t, cards), max(1, len(cards)))
		require.NoError(t, err, name)
		again := make([][]byte, len(cards))
		for _, c := range got {
			again[c.Rank] = encoded(t, c)
		}
		require.Equal(t, cards, again, name)
		if len(got) > 0 {
			_, err = bootstrap.UnpackCards(packed(t, cards), got[len(got)-1].Rank)
			require.ErrorIs(t, err, bootstrap.ErrMalformed, "the world is too small")
		}
	}
}

// The packed cards of 10,000 ranks take less than 500 kB, for different numbers of ranks per node.
func TestPackedCardsAreSmall(t *testing.T) {
	for _, perNode := range []int{1, 8, 64} {
		cards := cluster(t, 10000, perNode)
		require.Less(t, len(packed(t, cards)), 500_000, "%d ranks per node", perNode)
	}
}

// UnpackCards returns ErrMalformed for packed cards that are truncated, before or after
// compression, and for trailing bytes.
func TestPackedCardsTruncatedOrDamaged(t *testing.T) {
	whole := packed(t, [][]byte{encoded(t, richCard(0)), encoded(t, plainCard(1)), nil, encoded(t, richCard(3))})
	for n := range whole {
		_, err := bootstrap.UnpackCards(whole[:n], 4)
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%d bytes", n)
	}
	flat := bootstrap.Decompress(t, whole)
	for n := range flat {
		_, err := bootstrap.UnpackCards(bootstrap.Compress(flat[:n]), 4)
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%d bytes", n)
	}
	_, err := bootstrap.UnpackCards(bootstrap.Compress(append(flat, 0)), 4)
	require.ErrorIs(t, err, bootstrap.ErrMalformed)
}

// UnpackCards refuses cards that decompress to more bytes than the number of ranks allows. Cards of the
// largest size are within that bound.
func TestPackedCardsOfASmallWorld(t *testing.T) {
	long := strings.Repeat("x", 255)
	var cards [][]byte
	for rank := range 3 {
		c := bootstrap.Card{Rank: rank, PID: 1<<31 - 1 - rank*(1<<29), Slot: rank, Host: long[rank:], Provider: long[rank:], Addresses: make([]bootstrap.Address, 255), Data: make([]byte, bootstrap.DataBytesMax)}
		for i := range c.Addresses {
			c.Addresses[i] = bootstrap.Address{IP: [16]byte{byte(i), byte(rank)}, Port: uint16(i * 257)}
		}
		cards = append(cards, encoded(t, c))
	}
	got, err := bootstrap.UnpackCards(packed(t, cards), 3)
	require.NoError(t, err)
	require.Len(t, got, 3)
	flat := append(bootstrap.Decompress(t, packed(t, cards)), make([]byte, 100_000)...)
	_, err = bootstrap.UnpackCards(bootstrap.Compress(flat), 3)
	require.ErrorIs(t, err, bootstrap.ErrMalformed)
	require.ErrorContains(t, err, "for 3 ranks, want at most ")
	require.NotContains(t, err.Error(), "%!", "the text must not contain a nil error that fmt could not format")
	_, err = bootstrap.UnpackCards(bootstrap.Compress(flat), 100)
	require.ErrorContains(t, err, "packed cards in 1", "a world for which these are not too many")
	// The input has two zstd frames. The length in the header of the first frame does not include the second
	// frame.
	two := append(packed(t, cards), packed(t, cards)...)
	_, err = bootstrap.UnpackCards(two, 3)
	require.ErrorIs(t, err, bootstrap.ErrMalformed)
}

// FuzzPackedCards checks that UnpackCards either returns ErrMalformed or returns cards that are the same
// after another packing and unpacking.
func FuzzPackedCards(f *testing.F) {
	f.Add(bootstrap.Decompress(f, packed(f, [][]byte{encoded(f, richCard(0)), nil, encoded(f, plainCard(2))})))
	f.Add(bootstrap.Decompress(f, packed(f, cluster(f, 20, 3))))
	f.Add([]byte{3, 1, 1, 0})
	f.Fuzz(func(t *testing.T, flat []byte) {
		cards, err := bootstrap.UnpackCards(bootstrap.Compress(flat), 64)
		if err != nil {
			require.ErrorIs(t, err, bootstrap.ErrMalformed)
			return
		}
		list := make([][]byte, 64)
		for _, c := range cards {
			list[c.Rank] = encoded(t, c)
		}
		again, err := bootstrap.UnpackCards(packed(t, list), 64)
		require.NoError(t, err)
		require.Equal(t, len(cards), len(again))
		for i := range cards {
			require.Equal(t, encoded(t, cards[i]), encoded(t, again[i]))
		}
	})
}
