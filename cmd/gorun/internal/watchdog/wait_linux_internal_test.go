package watchdog

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// dismissed reports whether the pipe contains gorun's byte for an orderly end. If the pipe is closed without
// this byte, gorun was killed.
func TestDismissed(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		want bool
	}{
		"an orderly end":     {"c", true},
		"with more after it": {"cx", true},
		"another word":       {"x", false},
		"gorun is gone":      {"", false},
	} {
		r, w, err := os.Pipe()
		require.NoError(t, err, name)
		_, err = w.WriteString(c.said)
		require.NoError(t, err, name)
		require.NoError(t, w.Close(), name)
		require.Equal(t, c.want, dismissed(int(r.Fd())), name)
		require.NoError(t, r.Close(), name)
	}
	require.False(t, dismissed(-1), "a pipe that cannot be read has no word of an orderly end")
}
