package main_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gorun's threads sleep while a rank starts. A blocking system call must release its P (the processor of Go's
// scheduler). Otherwise, the scheduler's monitor would poll every 20 us for 10 ms, on a processor that the rank
// may need.
func TestGorunSleepsWhileARankStarts(t *testing.T) {
	const script = `
a=$(cat /proc/$PPID/task/*/status); sleep 0.02; b=$(cat /proc/$PPID/task/*/status)
for x in "$a" "$b"; do echo next; echo "$x"; done`
	sum := 0
	for range 5 {
		r := gorun(t, nil, "-np", "1", "sh", "-c", script)
		require.Zero(t, r.code, r.err)
		at := strings.Split(r.out, "next\n")
		require.Len(t, at, 3)
		sum += switches(t, at[2]) - switches(t, at[1])
	}
	require.Less(t, sum, 100, "sleeps of gorun's threads within five times 20 ms")
}

var voluntary = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+(\d+)$`)

// switches returns the sum of the voluntary context switches of threads. status has the texts of their status
// files in /proc.
func switches(t *testing.T, status string) (sum int) {
	t.Helper()
	for _, m := range voluntary.FindAllStringSubmatch(status, -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		sum += n
	}
	require.Positive(t, sum)
	return sum
}
