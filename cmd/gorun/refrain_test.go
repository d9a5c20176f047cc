package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// If many ranks end with the same error, gorun shows the error once, after the output of the first of these
// ranks, and counts the other ranks. Each rank's own output file has the error.
func TestErrorOfManyRanksIsShownOnce(t *testing.T) {
	for _, hosts := range []bool{false, true} {
		flags := []string{"-np", "16"}
		if hosts {
			flags = []string{"-host", "a:8,b:8", "-rsh", rsh(t)}
		}
		flags = append(flags, "-on-failure", "continue")
		got := gorun(t, nil, helper(flags, "fail", "own", "no such file: x")...)
		require.Equal(t, 1, got.code)
		shown, last, _ := strings.Cut(got.err, "gorun: the job failed")
		require.Equal(t, 1, strings.Count(shown, ": no such file: x\n"), got.err)
		require.Regexp(t, `(?m)^rank \d+: no such file: x$`, shown)
		require.Equal(t, 16, strings.Count(shown, "before\n"))
		require.Regexp(t, `gorun: 15 more ranks, [0-9,-]+, failed with the error of rank \d+\n`, shown)
		require.Contains(t, last, "  | before\n")
		require.Regexp(t, `  \| rank \d+: no such file: x\n`, last)

		dir := t.TempDir()
		got = gorun(t, nil, helper(append(flags, "-output-dir", dir), "fail", "own", "no such file: x")...)
		require.Equal(t, 1, got.code)
		for rank := range 16 {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank.%d.err", rank)))
			require.NoError(t, err)
			want := fmt.Sprintf("rank %d: no such file: x\n", rank)
			if !hosts { // from several hosts, the output and the error arrive in any order
				want = "before\n" + want
			}
			require.Contains(t, string(text), want)
		}
	}
	// The error is shown even if the rank has closed its output.
	got := gorun(t, nil, helper([]string{"-np", "2", "-on-failure", "continue"}, "fail", "own", "why", "closed")...)
	require.Regexp(t, `(?m)^rank \d: why$`, got.err)
	got = gorun(t, nil, helper([]string{"-np", "2", "-l", "-on-failure", "continue"}, "fail", "own", "why")...)
	require.Regexp(t, `(?m)^\[\d\] rank \d: why$`, got.err)
	require.Regexp(t, `gorun: 1 more rank, \d, failed with the error of rank \d\n`, got.err)
}

// If a rank fails because another rank has failed, gorun reports the other rank as the first failure. gorun
// must do so for both orders of the ends of the two ranks.
func TestFailureOfAnotherRankIsItsOwn(t *testing.T) {
	for _, alive := range []bool{false, true} {
		args := []string{"2", "broken by rank 2"}
		if alive {
			args = append(args, "stays")
		}
		for _, flags := range [][]string{{"-np", "4", "-grace", "1"}, onHosts(t, "-grace", "1")} {
			name := filepath.Join(t.TempDir(), "r.json")
			got := gorun(t, nil, helper(append(flags, "-report", name), "fail", args...)...)
			require.Equal(t, 1, got.code)
			require.Contains(t, got.err, "\ngorun: first failure: rank 2 (", got.err)
			report, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Contains(t, string(report), "\"first_failure\": {\n    \"rank\": 2,")
			if alive {
				require.Regexp(t, `first failure: rank 2 \(.*\) made rank [013] fail: broken by rank 2 after`, got.err)
			}
		}
	}
}
