//go:build !linux

package distance

import (
	"errors"
	"time"
)

var errSystem = errors.New("the distance of two processors is measured on Linux only")

// Check returns an error, because this package can bind a thread to a processor on Linux only.
func Check() error { return errSystem }

func roundTrip() (time.Duration, error) { return 0, errSystem }
