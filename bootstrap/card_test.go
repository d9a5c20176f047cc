package bootstrap_test

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func plainCard(rank int) bootstrap.Card {
	return bootstrap.Card{Rank: rank, PID: 4000 + rank, Slot: rank, Node: bootstrap.NodeID{0xaa, 15: 0xbb}}
}

func richCard(rank int) bootstrap.Card {
	c := plainCard(rank)
	c.Host, c.Provider, c.Data = "h1", "iwarp", []byte{0xde, 0xad}
	c.Addresses = []bootstrap.Address{{IP: [16]byte{10: 0xff, 0xff, 10, 0, 0, 1}, Port: 4791}, {IP: [16]byte{0: 0xfe, 1: 0x80, 15: 9}, Port: 1}}
	return c
}

func encoded(tb testing.TB, c bootstrap.Card) []byte {
	tb.Helper()
	b, err := c.Append(nil)
	require.NoError(tb, err)
	require.Len(tb, b, c.Len())
	return b
}

// golden reads a file of testdata in which bytes are written in hexadecimal. It ignores spaces,
// newlines, and comments after #.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	require.NoError(t, err)
	return b
}

// The wire format of a card equals the bytes recorded in testdata.
func TestCardGolden(t *testing.T) {
	for name, c := range map[string]bootstrap.Card{"card-plain.hex": plainCard(7), "card-rich.hex": richCard(258)} {
		require.Equal(t, hex.EncodeToString(golden(t, name)), hex.EncodeToString(encoded(t, c)), name)
	}
}

// ParseCard returns the card that was encoded, and its length. It ignores the bytes after the card.
func TestCardRoundTripLeavesTheRest(t *testing.T) {
	for _, c := range []bootstrap.Card{{}, plainCard(1), richCard(2)} {
		b := append(encoded(t, c), 1, 2, 3)
		got, n, err := bootstrap.ParseCard(b)
		require.NoError(t, err)
		require.Equal(t, c, got)
		require.Equal(t, len(b)-3, n)
	}
}

// A parsed card does not alias the buffer that it was parsed from.
func TestCardIsNotThatBuffer(t *testing.T) {
	b := encoded(t, richCard(2))
	c, _, err := bootstrap.ParseCard(b)
	require.NoError(t, err)
	clear(b)
	require.Equal(t, richCard(2), c)
}

// ParseCard returns ErrMalformed for each truncation of a card, and for a card with an invalid value in a
// field.
func TestCardTruncatedOrDamaged(t *testing.T) {
	whole := encoded(t, richCard(3))
	for n := range whole {
		_, _, err := bootstrap.ParseCard(whole[:n])
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%d bytes", n)
	}
	for _, damage := range []struct {
		at int
		to byte
	}{
		{0, 1},
		{1, 1},
		{2, 36},
		{2, 37},
		{3, 1},
		{7, 0x80},
		{11, 0x80},
		{15, 0xff},
		{32, 255},
		{32, 4},
		{35, 4},
		{35, 255},
		{41, 1},
		{41, 3},
		{78, 1},
		{78, 3},
		{79, 4},
	} {
		b := append([]byte(nil), whole...)
		b[damage.at] = damage.to
		_, _, err := bootstrap.ParseCard(b)
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%+v", damage)
	}
}

// ParseCard returns ErrMalformed for a card whose data is longer than DataBytesMax, even if the data is only
// announced and not present.
func TestCardWithTooMuchData(t *testing.T) {
	b := slices.Concat(encoded(t, plainCard(1))[:35], []byte{0x01, 0x04})
	b = append(b, make([]byte, bootstrap.DataBytesMax+1)...)
	for _, whole := range [][]byte{b, b[:37]} {
		whole[2], whole[3] = byte(len(whole)), byte(len(whole)>>8)
		_, _, err := bootstrap.ParseCard(whole)
		require.ErrorIs(t, err, bootstrap.ErrMalformed, "%d bytes", len(whole))
	}
}

// Card.Append returns an error for a card with a field that does not fit into the wire format. The largest
// card that fits has CardBytesMax bytes.
func TestCardOutOfRange(t *testing.T) {
	for _, c := range []bootstrap.Card{
		{Rank: -1},
		{PID: 1 << 31},
		{Slot: -5},
		{Provider: strings.Repeat("x", 256)},
		{Addresses: make([]bootstrap.Address, 256)},
		{Host: strings.Repeat("x", 256)},
		{Data: make([]byte, bootstrap.DataBytesMax+1)},
	} {
		_, err := c.Append(nil)
		require.Error(t, err)
	}
	long := strings.Repeat("x", 255)
	big := bootstrap.Card{Host: long, Provider: long, Addresses: make([]bootstrap.Address, 255), Data: make([]byte, bootstrap.DataBytesMax)}
	require.Len(t, encoded(t, big), bootstrap.CardBytesMax)
}

// FuzzCard checks that ParseCard either returns ErrMalformed or parses a card that encodes to the
// same bytes.
func FuzzCard(f *testing.F) {
	f.Add(encoded(f, plainCard(1)))
	f.Add(encoded(f, richCard(1)))
	f.Add(append(encoded(f, plainCard(1))[:35], 0xff, 0xff))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, n, err := bootstrap.ParseCard(b)
		if err != nil {
			require.ErrorIs(t, err, bootstrap.ErrMalformed)
			return
		}
		require.Equal(t, b[:n], encoded(t, c))
	})
}
