package options_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/examples/internal/options"
)

func TestOutputChangesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("old.png", []byte("old"), 0o644))
	require.NoError(t, os.Symlink("nowhere.png", "link.png"))
	for _, name := range []string{"old.png", "new.png"} {
		whole, err := options.Output(name)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, name), whole)
	}
	for _, name := range []string{dir, "no/such.png", "link.png"} {
		_, err := options.Output(name)
		require.Error(t, err, name)
	}
	text, err := os.ReadFile("old.png")
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, left, 2)
}
