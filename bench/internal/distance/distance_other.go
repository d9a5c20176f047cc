//go:build !linux

package distance

import (
	"errors"
	"time"
)

var errSystem = errors.New("the distance of two processors is measured on Linux only")

// Check returns an error, because a thread cannot be bound to a processor here.
func Check() error { return errSystem }

func roundTrip() (time.Duration, error) { return 0, errSystem }
