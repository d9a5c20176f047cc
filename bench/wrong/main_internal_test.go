package main

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

// TestWrongPrograms checks that gorun -check reports every wrong program for which the table gives no reason
// why it is missed. No correct program may be reported. docs/wrong-programs.md must contain the verdicts.
func TestWrongPrograms(t *testing.T) {
	verdicts, err := judgeAll(t.Context(), launch.Gorun(t), launch.Build(t, "wrong", "."), families)
	require.NoError(t, err)
	for _, v := range verdicts {
		switch {
		case v.correct:
			require.Zero(t, v.code, "%s\n%s", v.name, v.report)
		case v.missed == "":
			require.True(t, v.found(), "%s: code %d\n%s", v.name, v.code, v.report)
		default:
			require.False(t, v.found(), "%s: code %d\n%s", v.name, v.code, v.report)
		}
	}
	want, err := os.ReadFile("../../docs/wrong-programs.md")
	require.NoError(t, err)
	require.Equal(t, string(want), page(families, verdicts), "run: go run ./bench/wrong > docs/wrong-programs.md")
}

// TestPrograms checks that names of programs are unique, because a program is selected by its name. It also
// checks that a wrong program has either the words of its report or the reason why its mistake is not
// reported.
func TestPrograms(t *testing.T) {
	names := make(map[string]bool)
	for _, f := range families {
		for _, p := range f.programs {
			require.False(t, names[p.name], p.name)
			names[p.name] = true
			require.Equal(t, f.origin == "", p.finds == "" && p.missed == "", p.name)
			require.False(t, p.finds != "" && p.missed != "", p.name)
			found, ok := find(p.name)
			require.True(t, ok)
			require.Equal(t, p.name, found.name)
		}
	}
	_, ok := find("none")
	require.False(t, ok)
}

// TestVerdict checks that a mistake counts as found only if the report contains the expected words in their
// order, and if the job fails or the report contains a note. The mistake counts as located if the report
// contains a line of the program, even if it does not count as found.
func TestVerdict(t *testing.T) {
	p, _ := find("parts that stay open in a loop")
	file, first := p.begins()
	require.Equal(t, "resource.go", file)
	require.Positive(t, first)
	right := "check: nobody closed the communicator world.split(0) made at resource.go:" + strconv.Itoa(first+1) + " (3 times)"
	for _, c := range []struct {
		report         string
		code           int
		found, located bool
	}{
		{right, 1, true, true},
		{right, 0, false, true},
		{"check: note: " + right, 0, true, true},
		{"(3 times) " + right[:len(right)-len(" (3 times)")], 1, false, true},
		{"resource.go:" + strconv.Itoa(first-1), 1, false, false},
		{"resource.go:" + strconv.Itoa(after(file, first)), 1, false, false},
		{"request.go:" + strconv.Itoa(first), 1, false, false},
		{"", 1, false, false},
	} {
		v := newVerdict(p, false, c.code, c.report)
		require.Equal(t, c.found, v.found(), c.report)
		require.Equal(t, c.located, v.located(), c.report)
	}
}
