package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// timeout ends a run that hangs.
const timeout = time.Minute

// bin is the directory where TestMain built gorun and the program.
var bin string

func TestMain(m *testing.M) {
	code := 1
	var err error
	if bin, err = os.MkdirTemp("", "rawtcp"); err == nil {
		if err = launch.Install(".", bin, nil, "cmd/gorun", "bench/rawtcp"); err == nil {
			code = m.Run()
		}
		_ = os.RemoveAll(bin) // bin is a temporary directory
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(t *testing.T, ranks string, args ...string) (launch.Result, error) {
	t.Helper()
	command := append([]string{filepath.Join(bin, "gorun"), "-np", ranks, filepath.Join(bin, "rawtcp")}, args...)
	return launch.Execute(t.Context(), timeout, nil, command...)
}

// TestTables checks that there is a row with a positive figure for each size.
func TestTables(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		column string
	}{
		"ping-pong":         {nil, "Latency (us)"},
		"without a warm-up": {[]string{"-x", "0"}, "Latency (us)"},
		"stream":            {[]string{"-stream"}, "Bandwidth (MB/s)"},
	} {
		t.Run(name, func(t *testing.T) {
			sizes := []int{1, 8, 100_000, 4 << 20}
			out, err := run(t, "2", append([]string{"-m", "1,8,100000,4M", "-json", "-i", "2", "-x", "1"}, tc.args...)...)
			require.NoError(t, err)
			var r struct {
				Ranks   int
				Columns []string
				Rows    []struct {
					Size   int
					Values []float64
				}
			}
			require.NoError(t, json.Unmarshal([]byte(out.Out), &r), out.Out)
			require.Equal(t, 2, r.Ranks)
			require.Equal(t, []string{tc.column}, r.Columns)
			require.Len(t, r.Rows, len(sizes))
			for i, row := range r.Rows {
				require.Equal(t, sizes[i], row.Size)
				require.Positive(t, row.Values[0])
			}
		})
	}
	out, err := run(t, "2", "-m", "8", "-i", "3", "-x", "1")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^# Size +Latency \(us\)\n8 +\d+\.\d+$`, out.Out)
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct{ ranks, sizes, says string }{
		{"1", "8", "two ranks"},
		{"3", "8", "two ranks"},
		{"2", "0", "no messages of 0 bytes"},
	} {
		out, err := run(t, tc.ranks, "-m", tc.sizes)
		require.Error(t, err)
		require.NotErrorIs(t, err, launch.ErrTimeout)
		require.Contains(t, out.Errors, tc.says)
	}
}
