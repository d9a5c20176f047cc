package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuildWithoutNetwork checks that the error is one line, with the name of the system, if the modules of a
// peer system cannot be downloaded.
func TestBuildWithoutNetwork(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module peer\n\ngo 1.26\n\nrequire example.org/there v1.0.0\n",
		"main.go": "package main\n\nimport _ \"example.org/there\"\n\nfunc main() {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	err := buildIn(t.Context(), dir, filepath.Join(dir, "peer"), "the peer")
	require.ErrorContains(t, err, "the peer: not built: exit status 1: ")
	require.NotContains(t, err.Error(), "\n")
}

func TestBuildTellsVersions(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, buildIn(t.Context(), "netrpc", filepath.Join(dir, "netrpc"), "net/rpc"))
	s := system{program: "netrpc"}
	require.Contains(t, s.version(dir), "go1")
	s.module = "example.org/there"
	require.Empty(t, s.version(dir))
	s.program = "nothing"
	require.Empty(t, s.version(dir))
}

// TestVersionOfLaunchers checks the version that is read from launchers, which print it in
// different forms. One launcher refuses to run as root without certain environment variables.
func TestVersionOfLaunchers(t *testing.T) {
	launcher := filepath.Join(t.TempDir(), "mpirun")
	for said, want := range map[string]string{
		"mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs": "mpirun.openmpi (OpenRTE) 4.1.4",
		"mpirun (Open MPI) 5.0.1":                       "mpirun (Open MPI) 5.0.1",
		"HYDRA build details:\n    Version:    4.0.2":   "Version: 4.0.2",
		"gorun (devel) go1.26":                          "gorun (devel) go1.26",
		"nothing of the kind":                           "",
	} {
		script := "#!/bin/sh\n[ \"$ALLOWED\" = 1 ] || exit 1\ncat <<'END'\n" + said + "\nEND\n"
		require.NoError(t, os.WriteFile(launcher, []byte(script), 0o755))
		s := system{launcher: launcher, env: []string{"ALLOWED=1"}}
		require.Equal(t, want, s.version(""))
		s.env = nil
		require.Empty(t, s.version(""))
	}
}
