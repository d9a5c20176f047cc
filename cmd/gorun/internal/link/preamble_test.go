package link_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// ReadPreamble returns the protocol and version of the peer, even if the peer is newer. It reads no byte
// beyond the line of the preamble.
func TestPreamble(t *testing.T) {
	whole := link.Preamble("v1.2.3\nx")
	require.Equal(t, "gorun-agent 11 v1.2.3 x\n", string(whole))
	in := reader(append(whole, "rest"...))
	protocol, version, err := link.ReadPreamble(in)
	require.NoError(t, err)
	require.Equal(t, link.Protocol, protocol)
	require.Equal(t, "v1.2.3 x", version)
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "rest", string(rest))
	for n := range whole {
		_, _, err := link.ReadPreamble(reader(whole[:n]))
		if n == 0 {
			require.Equal(t, io.EOF, err)
		} else {
			require.Equal(t, io.ErrUnexpectedEOF, err, "%d bytes", n)
		}
	}
	protocol, _, err = link.ReadPreamble(reader([]byte("gorun-agent 99 v2\n")))
	require.NoError(t, err)
	require.Equal(t, 99, protocol, "another version is understood as such")
}

// If the bytes that arrive are not a preamble, ReadPreamble returns a NoiseError with the first of them.
func TestPreambleNoise(t *testing.T) {
	for _, said := range []string{
		"Welcome to h1!\ngorun-agent 1 v1\n", "\n", "gorun-agent\n", "gorun-agent x v1\n", "gorun-agent 1\n",
		"gorun-agents 1 v1\n", "no newline", strings.Repeat("x", 100_000), "gorun-agent 1 " + strings.Repeat("x", 1000) + "\n",
	} {
		_, _, err := link.ReadPreamble(reader([]byte(said)))
		var noise *link.NoiseError
		require.ErrorAs(t, err, &noise, "%.40q", said)
		require.LessOrEqual(t, len(noise.Said), 256)
		require.True(t, strings.HasPrefix(said, string(noise.Said)))
	}
}

// FuzzPreamble checks that a version which ReadPreamble returns was in the input.
func FuzzPreamble(f *testing.F) {
	f.Add(link.Preamble("v1"))
	f.Add([]byte("motd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, version, err := link.ReadPreamble(reader(b))
		if err == nil {
			require.Contains(t, string(b), version+"\n")
		}
	})
}
