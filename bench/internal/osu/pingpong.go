package osu

import (
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// Tags of the messages of the benchmarks.
const (
	tagData = 1 // the tag that OSU uses
	tagAck  = 101
	tagSync = 102
)

// PingPong exchanges messages between two ranks. Each rank sends s and receives into r. The rank that passes true
// as the argument first begins. PingPong returns the time of one way in microseconds: the duration of the timed
// round trips, divided by twice their number.
func PingPong[T Element](c *runtime.Comm, peer int, first bool, s, r []T, timed, warmup int) (float64, error) {
	if err := Sync(c, peer); err != nil {
		return 0, err
	}
	var start time.Time
	for i := range warmup + timed {
		if i == warmup {
			start = time.Now()
		}
		if first {
			if err := runtime.Send(c, s, peer, tagData); err != nil {
				return 0, err
			}
		}
		if _, err := runtime.Recv(c, r, peer, tagData); err != nil {
			return 0, err
		}
		if !first {
			if err := runtime.Send(c, s, peer, tagData); err != nil {
				return 0, err
			}
		}
	}
	return Micros(time.Since(start)) / float64(2*timed), nil
}

// Sync waits until the peer also calls Sync.
func Sync(c *runtime.Comm, peer int) error {
	var mine, theirs [1]byte
	_, err := runtime.SendRecv(c, mine[:], peer, tagSync, theirs[:], peer, tagSync)
	return err
}
