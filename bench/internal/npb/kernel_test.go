package npb_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb"
	"github.com/gorun-hpc/gorun/runtime"
)

// TestClassS runs the smallest class of each kernel and verifies it.
func TestClassS(t *testing.T) {
	kernels := map[string]func(*runtime.Comm, npb.Class) (*npb.Report, error){"CG": npb.CG, "EP": npb.EP}
	for name, kernel := range kernels {
		for _, ranks := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s on %d ranks", name, ranks), func(t *testing.T) {
				if name == "EP" && raceEnabled && ranks > 1 {
					t.Skip("16 million pairs take half a minute under the race detector; one rank is enough there")
				}
				err := runtime.Local(ranks, func(w *runtime.World) error {
					report, err := kernel(w.Comm(), "S")
					if err != nil {
						return err
					}
					if !report.Verified() {
						return fmt.Errorf("rank %d: not verified: %+v", w.Rank(), report.Values)
					}
					return nil
				})
				require.NoError(t, err)
			})
		}
	}
}

// A report is verified only by values that agree.
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
