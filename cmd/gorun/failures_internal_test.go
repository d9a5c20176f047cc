package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A failure ends the waits for other hosts after a delay. A wait that begins after the delay ends at once. A
// wait that has ended before is not ended again.
func TestFailuresEndTheWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f failures
		var ended, left atomic.Int32
		f.await(func() { ended.Add(1) })
		leave := f.await(func() { left.Add(1) })
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, ended.Load(), "no host has failed")
		f.first()
		time.Sleep(failureDelay / 2)
		f.first() // a second failure does not restart the delay
		f.await(func() { ended.Add(1) })
		leave()
		time.Sleep(failureDelay/2 - 1)
		synctest.Wait()
		require.Zero(t, ended.Load())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.EqualValues(t, 2, ended.Load())
		f.await(func() { ended.Add(1) })()
		synctest.Wait()
		require.EqualValues(t, 3, ended.Load())
		require.Zero(t, left.Load())
	})
}
