package distance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	close200 = 200 * time.Nanosecond
	far      = 2 * close200
)

// probes returns a probe that returns the given times in order, and after that always the last one.
func probes(times ...time.Duration) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		first := times[0]
		if len(times) > 1 {
			times = times[1:]
		}
		return first, nil
	}
}

// TestRunsCountWhileProcessorsAreNear checks how often a run is repeated.
func TestRunsCountWhileProcessorsAreNear(t *testing.T) {
	for name, tc := range map[string]struct {
		limit time.Duration
		times []time.Duration
		runs  int
		err   error
	}{
		"without a limit":            {0, []time.Duration{far}, 1, nil},
		"near":                       {close200, []time.Duration{close200}, 1, nil},
		"far before the run":         {close200, []time.Duration{far, far, close200}, 1, nil},
		"far after the run":          {close200, []time.Duration{close200, far, close200}, 2, nil},
		"never near before the run":  {close200, []time.Duration{far}, 0, ErrFar},
		"near before each run alone": {close200, alternating(), tries, ErrFar},
	} {
		t.Run(name, func(t *testing.T) {
			d, runs := Condition{limit: tc.limit, probe: probes(tc.times...)}, 0
			err := d.During(t.Context(), func() bool { runs++; return false })
			require.ErrorIs(t, err, tc.err)
			require.Equal(t, tc.runs, runs)
		})
	}
}

// alternating returns round-trip times of processors that are near before each run, and far after it.
func alternating() []time.Duration {
	var times []time.Duration
	for range tries {
		times = append(times, close200, far)
	}
	return times
}

// TestEndOfARepetition checks that During does not repeat a run that returned true, and that During returns the errors
// of the probe and of the context.
func TestEndOfARepetition(t *testing.T) {
	broken := errors.New("broken")
	runs := 0
	over := func() bool { runs++; return true }
	d := Condition{limit: close200, probe: probes(close200, far)}
	require.NoError(t, d.During(t.Context(), over))
	require.Equal(t, 1, runs)
	d.probe = func() (time.Duration, error) { return 0, broken }
	require.ErrorIs(t, d.During(t.Context(), over), broken)
	d.probe, d.pause = probes(far), time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.During(ctx, over), context.Canceled)
	require.Equal(t, 1, runs)
}
