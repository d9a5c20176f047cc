package bootstrap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func someBook(tb testing.TB) []byte {
	tb.Helper()
	return bootstrap.AppendBook(nil, [][]byte{encoded(tb, richCard(0)), nil, encoded(tb, plainCard(2))})
}

// ParseBook returns the cards from which AppendBook has made the book. The book reports that a missing rank,
// and a rank out of range, have no card.
func TestBookRoundTrip(t *testing.T) {
	b, err := bootstrap.ParseBook(someBook(t))
	require.NoError(t, err)
	require.Equal(t, 3, b.Size())
	for rank, want := range []bootstrap.Card{richCard(0), {}, plainCard(2)} {
		c, ok := b.Card(rank)
		require.Equal(t, rank != 1, ok)
		require.Equal(t, want, c)
	}
	for _, rank := range []int{-1, 3} {
		_, ok := b.Card(rank)
		require.False(t, ok)
	}
}

// ParseBook returns ErrMalformed for each truncation of a book, a card at the wrong rank, trailing bytes, a
// book of no ranks, and a number of ranks for which the book is too short.
func TestBookTruncatedOrDamaged(t *testing.T) {
	whole := someBook(t)
	for n := range whole {
		_, err := bootstrap.ParseBook(append([]byte(nil), whole[:n]...))
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%d bytes", n)
	}
	swapped := bootstrap.AppendBook(nil, [][]byte{encoded(t, plainCard(1)), encoded(t, plainCard(0))})
	padded := bootstrap.AppendBook(nil, [][]byte{append(encoded(t, plainCard(0)), 0)})
	none := bootstrap.AppendBook(nil, nil)
	huge := []byte{255, 255, 255, 255, 0, 0}
	for _, b := range [][]byte{swapped, padded, none, huge, append(whole, 0)} {
		_, err := bootstrap.ParseBook(b)
		require.ErrorIs(t, err, bootstrap.ErrMalformed)
	}
}

// FuzzBook checks that ParseBook either returns ErrMalformed or parses a book that encodes to the
// same bytes.
func FuzzBook(f *testing.F) {
	f.Add(someBook(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		book, err := bootstrap.ParseBook(b)
		if err != nil {
			require.ErrorIs(t, err, bootstrap.ErrMalformed)
			return
		}
		cards := make([][]byte, book.Size())
		for rank := range cards {
			if c, ok := book.Card(rank); ok {
				cards[rank] = encoded(t, c)
			}
		}
		require.Equal(t, b, bootstrap.AppendBook(nil, cards))
	})
}
