package gorun_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/mutation/breaks"
)

// TestEveryBreakApplies checks that every break in the tables of internal/mutation can be applied to the
// present sources. A break must change exactly one place, and the result must be valid Go. A change of such a
// place must also change the break.
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
