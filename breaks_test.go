package gorun_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/mutation/breaks"
)

// Every break in the tables of internal/mutation fits the sources as they are: it changes
// exactly one place, and the result is Go. The author of a change of such a place changes
// the break.
func TestEveryBreakApplies(t *testing.T) {
	packages, err := breaks.Packages(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 {
		t.Fatal("no tables found")
	}
	for _, pkg := range packages {
		all, err := breaks.Load(".", pkg)
		if err != nil {
			t.Error(err)
		}
		for i := range all {
			if _, err := all[i].Apply("."); err != nil {
				t.Error(err)
			}
		}
	}
}
