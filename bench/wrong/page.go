package main

import (
	"fmt"
	"slices"
	"strings"
)

// introduction is the format of the head of the page. It has four rows of two numbers. The first row has the
// number of wrong programs, and how many of them are reported. The second row has the number of reported
// wrong programs, and how many of them are reported with a source line. The third row has the number of all
// reported programs, and how many of them are wrong. The fourth row has the number of correct programs, and
// how many of them are reported as wrong.
const introduction = `# Wrong programs

Which mistakes ` + "`gorun -check`" + ` reports: small programs that make one mistake each, in the families of
MPI-CorrBench and of the MPI Bugs Initiative (MBI) without those of one-sided communication, and correct programs,
among them some that look like wrong ones. ` + "`go run ./bench/wrong > docs/wrong-programs.md`" + ` runs them and
writes this page; a test compares the two.

| | programs | of them |
|---|---|---|
| recall: wrong programs that are reported | %d | %d |
| with a source line of the program | %d | %d |
| precision: reported programs that are wrong | %d | %d |
| noise: correct programs that are reported as wrong | %d | %d |

A report is an error at the call, a deadlock (exit code 86), or a finding of the check at the end of the job. A note is
a finding that does not make the job fail.
`

// page returns the page: the numbers, and a table of the programs and verdicts of each family.
func page(list []family, verdicts []*verdict) string {
	byName := make(map[string]*verdict)
	for _, v := range verdicts {
		byName[v.name] = v
	}
	count := func(is func(v *verdict) bool) int {
		return len(slices.DeleteFunc(slices.Clone(verdicts), func(v *verdict) bool { return !is(v) }))
	}
	wrong := count(func(v *verdict) bool { return !v.correct })
	found := count(func(v *verdict) bool { return v.found() })
	noise := count(func(v *verdict) bool { return v.correct && v.alarmed() })
	var b strings.Builder
	fmt.Fprintf(&b, introduction, wrong, found, found, count(func(v *verdict) bool { return v.found() && v.located() }),
		found+noise, found, len(verdicts)-wrong, noise)
	for _, f := range list {
		fmt.Fprintf(&b, "\n## %s\n\n", f.name)
		if f.origin == "" {
			b.WriteString("| program | reported as wrong | note |\n|---|---|---|\n")
		} else {
			fmt.Fprintf(&b, "%s.\n\n| program | reported | source line | what the report says |\n|---|---|---|---|\n", f.origin)
		}
		for _, p := range f.programs {
			v := byName[p.name]
			if v.correct {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", v.name, answer(v.alarmed()), answer(v.noted))
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", v.name, answer(v.found()), answer(v.found() && v.located()), v.says())
		}
	}
	return b.String()
}

// says returns the words by which the report identifies the mistake, or the reason why there is no report.
func (v *verdict) says() string {
	switch {
	case v.found() && v.noted:
		return "`" + v.finds + "`, a note"
	case v.found():
		return "`" + v.finds + "`"
	default:
		return v.missed
	}
}

func answer(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
