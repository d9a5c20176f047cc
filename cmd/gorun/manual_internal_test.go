package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The manual page in the repository equals the output of gorun -man. The command go generate ./cmd/gorun
// updates the page.
func TestManualIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/gorun.1")
	require.NoError(t, err)
	require.Equal(t, manual(), string(page), "go generate ./cmd/gorun")
}

// The manual page has every flag and every section of -h, and groff formats it without a warning.
func TestManualIsWhole(t *testing.T) {
	page := manual()
	for _, f := range flags {
		require.Contains(t, page, "\n\\fB"+roff("-"+strings.Join(f.names, ", -"))+"\\fR")
		require.Contains(t, page, "\n"+roff(f.help)+"\n")
	}
	for _, g := range flagGroups {
		require.Contains(t, page, ".SS "+strings.ToUpper(g.title[:1])+g.title[1:]+"\n")
		require.Contains(t, usage(), "\n"+g.title+":\n")
	}
	for _, title := range []string{"SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "HOSTS", "EXIT CODE", "SIGNALS", "ENVIRONMENT OF A RANK", "SETTINGS OF A RANK"} {
		require.Contains(t, page, ".SH "+title+"\n")
	}
	for line := range strings.Lines(page) {
		require.NotRegexp(t, `^'|^\.[^A-Znf]`, line)
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("no groff to show the page")
	}
	show := exec.Command("groff", "-man", "-ww", "-Tascii", "-P-c")
	show.Stdin = strings.NewReader(page)
	var warnings strings.Builder
	show.Stderr = &warnings
	shown, err := show.Output()
	require.NoError(t, err)
	require.Empty(t, warnings.String())
	text := strings.ReplaceAll(string(shown), "\b", "")
	require.Contains(t, text, "gorun -np 2 -prefix '[%r@%h] ' -output-dir out -- ./prog : -x\n")
	require.Contains(t, text, "QUIT (Ctrl-\\)")
	require.Contains(t, text, "(go doc github.com/gorun-hpc/gorun/runtime explains them)\n")
	require.Regexp(t, `(?m)^ +GORUN_CMA=1 +0: no process_vm_readv$`, text)
}
