package distance

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Condition is the condition under which a run counts. The zero value is the condition that all runs satisfy.
type Condition struct {
	limit time.Duration // the longest round trip of a cache line with which a run counts; 0 if all runs count
	probe func() (time.Duration, error)
	pause time.Duration // between two probes while the processors are too far apart
}

// tries is the largest number of runs in one call of During, and pauses the largest number of probes before one run.
const (
	tries  = 8
	pauses = 600
)

// ErrFar is wrapped by the error of During if no run counts.
var ErrFar = errors.New("the processors have no common cache")

// New returns the condition that a cache line takes at most the duration limit from the first processor to the
// second and back.
func New(limit time.Duration) *Condition {
	return &Condition{limit: limit, probe: roundTrip, pause: 200 * time.Millisecond}
}

// During waits until the processors are near, and calls run. It does this at most tries times. It ends when the
// processors are near after a call, too, or when run returns true, which means that the run must not be repeated. An
// error wraps ErrFar, or is the error of a probe or of the context. If all runs count, During only calls run once.
func (d *Condition) During(ctx context.Context, run func() (over bool)) error {
	if d.limit == 0 {
		run()
		return nil
	}
	for range tries {
		if err := d.await(ctx); err != nil {
			return err
		}
		if run() {
			return nil
		}
		if near, err := d.near(); near || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w during %d runs", ErrFar, tries)
}

// await waits until the processors are near, for at most pauses probes.
func (d *Condition) await(ctx context.Context) error {
	for range pauses {
		near, err := d.near()
		if near || err != nil {
			return err
		}
		select { // nothing reports that the host has moved a processor
		case <-time.After(d.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("%w for %v", ErrFar, pauses*d.pause)
}

// near reports whether the processors are near.
func (d *Condition) near() (bool, error) {
	took, err := d.probe()
	return took <= d.limit, err
}

// String describes the condition. It returns "" if all runs count.
func (d *Condition) String() string {
	if d.limit == 0 {
		return ""
	}
	return fmt.Sprintf("while a cache line took at most %v from one processor to the other and back", d.limit)
}
