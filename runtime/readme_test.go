package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// firstProgram returns the first Go program of a markdown text.
func firstProgram(t *testing.T, markdown string) string {
	t.Helper()
	for _, block := range strings.Split(markdown, "```go\n")[1:] {
		program, _, closed := strings.Cut(block, "\n```")
		if closed && strings.HasPrefix(program, "package main") {
			return program + "\n"
		}
	}
	require.Fail(t, "no program in the README")
	return ""
}

// The first program of the README does what it says when it is built as it stands.
func TestFirstProgramOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte(firstProgram(t, string(readme))), 0o600))
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	// An overlay puts the file into the module without touching the tree.
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "examples", "first", "main.go"): source},
	})
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	bin := filepath.Join(dir, "first")
	build := exec.Command("go", "build", "-overlay", overlayFile, "-o", bin, "./examples/first")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as without the race detector
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, n := range []int{1, 2, 4} {
		r := launchFile(t, n, bin)
		require.Zero(t, r.code, r.errors)
		require.Equal(t, n, strings.Count(r.out, "\n"), r.out)
		for rank := range n {
			require.Contains(t, r.out, fmt.Sprintf("rank %d of %d: from the left %d, sum %d\n",
				rank, n, (rank+n-1)%n, n*(n-1)/2))
		}
	}
}
