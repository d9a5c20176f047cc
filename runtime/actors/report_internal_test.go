package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReportsAreFew checks that there are at most reportsMax reports a second. The last report of
// each second must say that further reports are not logged.
func TestReportsAreFew(t *testing.T) {
	var r reports
	now := time.Unix(1000, 0)
	for range 3 {
		for i := range 3 * reportsMax {
			more, ok := r.next(now.Add(time.Duration(i) * time.Millisecond))
			require.Equal(t, i < reportsMax, ok, i)
			require.Equal(t, i == reportsMax-1, more != nil, i)
		}
		now = now.Add(reportsTime)
	}
}
