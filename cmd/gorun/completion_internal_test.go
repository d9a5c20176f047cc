package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The completion script offers flags, their values, files and programs, each only where the command line
// allows it. It offers nothing for the arguments of the program, for which bash then offers files.
func TestCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "program"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.txt"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "completion"), []byte(completion()), 0o644))
	offers := func(line string) []string {
		c := exec.Command(bash, "--norc", "-u", "-c", `. ./completion; COMP_LINE=$1 COMP_POINT=${#1}; _gorun; printf '%s\n' "${COMPREPLY[@]}"`, "-", line)
		c.Dir, c.Env = dir, []string{"PATH=" + dir} // no commands but bash's builtins
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s: %s", line, out)
		return strings.Fields(string(out))
	}
	for line, want := range map[string][]string{
		"gorun -trans":                           {"-transport"},
		"gorun --trans":                          {"--transport"},
		"gorun -np 2 -bi":                        {"-bind-to"},
		"gorun -np 2 -bind-to ":                  {"none", "core", "numa"},
		"gorun --bind-to c":                      {"core"},
		"gorun -bind-to=n":                       {"none", "numa"},
		"gorun -stdin ":                          {"all", "none"},
		"gorun -np ":                             nil,
		"gorun -hostfile h":                      {"hosts.txt"},
		"gorun -wdir ":                           {"program"},
		"gorun -np 2 ./p":                        {"./program"},
		"gorun -np 2 prog":                       {"program"},
		"gorun -host h1:2,h2:2 -np 4 -on":        {"-on-deadlock", "-on-failure"},
		"gorun -np 2 ./program -bi":              nil, // the flags after the program are the program's
		"gorun -np 2 ./program : -bi":            {"-bind-to"},
		"gorun -np 2 -- ./program : -bi":         nil,
		"gorun -np 2 -- ./p":                     {"./program"},
		"gorun -np 1 a : -np 2 b : -on-failure ": {"kill", "continue", "respawn"},
		"gorun -encrypt=":                        {"yes", "no", "auto"},
	} {
		require.ElementsMatch(t, want, offers(line), line)
	}
	all := offers("gorun -")
	for _, f := range flags {
		for _, n := range f.names {
			require.Contains(t, all, "-"+n)
		}
	}
}
