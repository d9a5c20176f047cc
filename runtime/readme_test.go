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

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// firstProgram returns the first Go program in a markdown text.
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

// The first program of the README, built unchanged, prints what it should.
func TestFirstProgramOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte(firstProgram(t, string(readme))), 0o600))
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	// An overlay adds the file to the module without a change of the tree.
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "examples", "first", "main.go"): source},
	})
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	bin := filepath.Join(dir, "first")
	build := exec.Command("go", "build", "-overlay", overlayFile, "-o", bin, "./examples/first")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in a test run without the race detector
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

// shellBlock returns the first shell commands of the README after a given text.
func shellBlock(t *testing.T, readme, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(readme, after)
	require.True(t, found, "the README does not contain %q", after)
	_, rest, _ = strings.Cut(rest, "```sh\n")
	commands, _, closed := strings.Cut(rest, "```\n")
	require.True(t, closed)
	return commands
}

// The commands of the README about a module of the user and about several hosts work as printed. The
// test replaces the editor by a command that writes the first program, and the hosts by this host.
func TestCommandsOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	readme := string(text)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir, bin := t.TempDir(), t.TempDir()
	program := filepath.Join(bin, "program")
	require.NoError(t, os.WriteFile(program, []byte(firstProgram(t, readme)), 0o600))
	for name, script := range map[string]string{
		"editor": `cp ` + program + ` "$1"`,
		"scp":    `test -x "$1" && test "$2" = "h2:$PWD/"`,
		"ssh":    `while [ "${1#-}" != "$1" ]; do shift; done; export GORUN_HOSTID=$1; shift; exec sh -c "$*"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	require.NoError(t, os.Symlink(testbed.Gorun(t), filepath.Join(bin, "gorun")))
	prepare := "set -e\ncd " + dir + "\n" + strings.ReplaceAll(shellBlock(t, readme, "In a module of its own"), "/path/of/the/clone", root)
	prepare, start, found := strings.Cut(prepare, "go mod tidy\n")
	require.True(t, found)
	env := []string{
		"EDITOR=editor", "PATH=" + bin + ":" + os.Getenv("PATH"), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GORUN_NET=127.0.0.1",
	}
	require.Zero(t, finish(t, env, "sh", "-c", prepare).code)
	ring := "set -e\ncd " + dir + "/ring\n"
	if r := finish(t, env, "sh", "-c", ring+"go mod tidy"); r.code != 0 {
		t.Skip("go mod tidy does not get all modules: ", r.errors)
	}
	r := finish(t, env, "sh", "-c", ring+start+shellBlock(t, readme, "On several machines"))
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 3, strings.Count(r.out, "rank 2 of 4: from the left 1, sum 6\n"), r.out)
}
