package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	r := results{}
	for _, j := range []job{
		{system: "ssh", program: "true", line: []string{"true"}},
		{system: "x", program: "true", line: []string{"sh", "-c", "exit $CODE"}, env: []string{"CODE=0"}},
		{system: "x", program: "barrier", line: []string{"sh", "-c", "echo no way; exit 3"}},
		{system: "x", program: "true", line: []string{"false"}},
	} {
		r.measure(t.Context(), site{inside: []string{"env", "A=b"}}, j)
	}
	require.Len(t, r, 3, "a line for each system and program")
	r.of("ssh", "true").times = []time.Duration{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}
	r.of("x", "true").times = []time.Duration{50 * time.Millisecond}
	r.of("x", "true").used = []time.Duration{7 * time.Millisecond, 9 * time.Millisecond}
	text := r.table(2, 3, 4)
	require.Contains(t, text, "# 2 hosts, 3 ranks each, 4 rounds in turn, load ")
	lines := strings.Split(text, "\n")
	require.Regexp(t, `^ssh +true +20 +10 +1\.00 +-$`, lines[2])
	require.Regexp(t, `^x +true +50 +50 +2\.50 +7   1 of 2 failed or took more than `, lines[3])
	require.Regexp(t, `^x +barrier  failed: exit status 3: no way$`, lines[4])
}

func TestCases(t *testing.T) {
	s := site{hosts: []string{"a", "b"}, rsh: "ssh"}
	y := system{name: "y", startup: "/startup", line: func(s site, ppn int, program string) []string {
		return []string{with(s, ":2"), program}
	}}
	all := cases([]system{bare, y}, s, 2)
	require.Len(t, all, 3, "ssh alone has no barrier")
	require.Equal(t, []string{"sh", "-c", "for h in a b; do ssh -x -T -oBatchMode=yes $h true & all=\"$all $!\"; done; for p in $all; do wait $p || exit; done"}, all[0].line)
	require.Equal(t, []string{"a:2,b:2", "true"}, all[1].line)
	require.Equal(t, []string{"a:2,b:2", "/startup"}, all[2].line)
}

// TestSSHThatFails checks that ssh alone counts as failed if one of the hosts cannot be reached.
func TestSSHThatFails(t *testing.T) {
	rsh := filepath.Join(t.TempDir(), "rsh")
	require.NoError(t, os.WriteFile(rsh, []byte("#!/bin/sh\n[ \"$4\" != b ]\n"), 0o755))
	for hosts, failed := range map[string]int{"a c": 0, "a b c": 1} {
		r, s := results{}, site{hosts: strings.Fields(hosts), rsh: rsh}
		r.measure(t.Context(), s, cases([]system{bare}, s, 1)[0])
		require.Equal(t, failed, r[0].failed, hosts)
	}
}
