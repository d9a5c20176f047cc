package bootstrap_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// kindFailed is the kind of the frame that Session.Fail sends.
const kindFailed = 6

// Fail reports the error with which a rank ends, the rank that has caused it, and the rank whose loss the
// error names. It shortens a text that is too long for a frame.
func TestFailure(t *testing.T) {
	w := newWorld(t, 2)
	w.exchange(t, w.all())
	require.NoError(t, w.sessions[1].Fail(0, -1, "it was rank 0"))
	require.Equal(t, bootstrap.Event{Kind: bootstrap.EventFailed, Rank: 1, Origin: 0, Lost: -1, Text: "it was rank 0"}, w.next(t, bootstrap.EventFailed))
	require.NoError(t, w.sessions[0].Fail(0, 1, ""))
	require.Equal(t, bootstrap.Event{Kind: bootstrap.EventFailed, Rank: 0, Origin: 0, Lost: 1}, w.next(t, bootstrap.EventFailed))
	require.NoError(t, w.sessions[0].Fail(1, 0, strings.Repeat("x", 100<<10)))
	long := w.next(t, bootstrap.EventFailed)
	require.Equal(t, strings.Repeat("x", 64<<10-4), long.Text)
	require.Equal(t, []int{1, 0}, []int{long.Origin, long.Lost})
}

func TestServerRefusesMalformedFailures(t *testing.T) {
	for name, body := range map[string][]byte{
		"of no rank":                {255, 255, 255, 255, 1, 0, 0, 0, 'x'},
		"of a stranger":             {2, 0, 0, 0, 1, 0, 0, 0, 'x'},
		"by the loss of a stranger": {1, 0, 0, 0, 2, 0, 0, 0, 'x'},
		"by the loss below none":    {1, 0, 0, 0, 254, 255, 255, 255, 'x'},
		"of half a rank":            {1, 0, 0},
		"by the loss of half a one": {1, 0, 0, 0, 1, 0, 0},
	} {
		s := bootstrap.NewServer(2, func(bootstrap.Event) {})
		require.ErrorIs(t, s.Serve(0, recorded{bytes.NewReader(frame(kindFailed, body))}), bootstrap.ErrMalformed, name)
	}
}
