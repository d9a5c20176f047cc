package npb_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb"
	"github.com/gorun-hpc/gorun/runtime"
)

// kernels holds all kernels. The keys are the names in the reports.
var kernels = map[string]func(*runtime.Comm, npb.Class) (*npb.Report, error){
	"CG": npb.CG, "EP": npb.EP, "FT": npb.FT, "IS": npb.IS, "LU": npb.LU, "MG": npb.MG,
}

// verify runs a kernel on ranks that are goroutines and checks its report.
func verify(t *testing.T, name string, class npb.Class, ranks int) {
	t.Helper()
	err := runtime.Local(ranks, func(w *runtime.World) error {
		report, err := kernels[name](w.Comm(), class)
		if err != nil {
			return err
		}
		if !report.Verified() || report.Kernel != name || report.Ranks != ranks {
			return fmt.Errorf("rank %d: not verified: %+v", w.Rank(), report)
		}
		return nil
	})
	require.NoError(t, err)
}

// TestClassS runs class S, the smallest, of each kernel and verifies the result.
func TestClassS(t *testing.T) {
	for name := range kernels {
		for _, ranks := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s on %d ranks", name, ranks), func(t *testing.T) {
				if name == "EP" && raceEnabled && ranks > 1 {
					t.Skip("16 million pairs take half a minute under the race detector; one rank is enough there")
				}
				verify(t, name, "S", ranks)
			})
		}
	}
}

// TestLargerClasses runs the other classes.
func TestLargerClasses(t *testing.T) {
	if os.Getenv("GORUN_SOAK") == "" {
		t.Skip("the classes W, A and B take minutes: GORUN_SOAK=1")
	}
	for name := range kernels {
		for class, some := range map[npb.Class][]int{"W": {1, 2, 4, 8}, "A": {1, 4}, "B": {2}} {
			for _, ranks := range some {
				t.Run(fmt.Sprintf("%s, class %s on %d ranks", name, class, ranks), func(t *testing.T) { verify(t, name, class, ranks) })
			}
		}
	}
}

// TestKernelsRefuse checks that every kernel refuses a class that it does not have. Every kernel except EP
// must also refuse a number of ranks that is not a power of two.
func TestKernelsRefuse(t *testing.T) {
	for name, kernel := range kernels {
		require.ErrorContains(t, runtime.Local(1, func(w *runtime.World) error {
			_, err := kernel(w.Comm(), "X")
			return err
		}), name+` has no class "X"`)
		if name == "EP" {
			continue
		}
		require.ErrorContains(t, runtime.Local(3, func(w *runtime.World) error {
			_, err := kernel(w.Comm(), "S")
			return err
		}), "the number of ranks of "+name+" must be a power of two, not 3")
	}
}

// TestReportVerified checks that a report is verified only if all its values agree with the
// reference.
func TestReportVerified(t *testing.T) {
	good := npb.Value{Name: "zeta", Got: 8.5971775078648, Want: 8.5971775078648, Tolerance: 1e-10}
	bad := good
	bad.Got *= 1 + 2e-10
	nan := good
	nan.Got = math.NaN()

	for _, tc := range []struct {
		name   string
		values []npb.Value
		want   bool
		line   string
	}{
		{"agrees", []npb.Value{good}, true, " VERIFICATION SUCCESSFUL\n"},
		{"one differs", []npb.Value{good, bad}, false, " VERIFICATION FAILED\n"},
		{"not a number", []npb.Value{nan}, false, " VERIFICATION FAILED\n"},
		{"no values", nil, false, " VERIFICATION FAILED\n"},
	} {
		r := npb.Report{Kernel: "CG", Class: "S", Ranks: 2, Values: tc.values}
		require.Equal(t, tc.want, r.Verified(), tc.name)
		var out bytes.Buffer
		require.NoError(t, r.Write(&out))
		require.Contains(t, out.String(), tc.line)
	}
}

func TestParseClass(t *testing.T) {
	class, err := npb.ParseClass("a")
	require.NoError(t, err)
	require.Equal(t, npb.Class("A"), class)
	_, err = npb.ParseClass("X")
	require.ErrorContains(t, err, `"X"`)
}
