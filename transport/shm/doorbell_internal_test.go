//go:build !race

package shm

import (
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// closedPage is a page that faults on every access before it is opened. (The race
// detector's atomic operations would not survive it.)
func closedPage(t *testing.T) (s segment, open func()) {
	t.Helper()
	b, err := unix.Mmap(-1, 0, pageBytes, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return segmentOf(b), func() { require.NoError(t, unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE)) }
}

// faultOf returns the address at which f faulted, 0 if it did not.
func faultOf(f func()) (address uint64) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault, ok := recover().(interface{ Addr() uintptr }); ok {
			address = uint64(fault.Addr())
		}
	}()
	f()
	return 0
}

// The ringer counts the ring before it looks for sleepers, and the sleeper counts itself
// before it looks whether it was rung. In any other order both can miss each other. The
// word that is touched first is known from the fault.
func TestDoorbellOrder(t *testing.T) {
	words, openWord := closedPage(t)
	sleeping, openSleepers := closedPage(t)
	d := doorbell{words.word32(0), sleeping.word32(0), new(uint64)}
	wordAt, sleepersAt := addressOf(words.bytes), addressOf(sleeping.bytes)
	sleep := func() { d.Sleep(0, int64(time.Second)) }

	require.Equal(t, wordAt, faultOf(d.Ring))
	require.Equal(t, sleepersAt, faultOf(sleep))
	openWord()
	require.Equal(t, sleepersAt, faultOf(d.Ring))
	require.Equal(t, uint32(1), atomic.LoadUint32(d.word), "the ring was counted before the look")
	openSleepers()
	d.sleep(func(word *uint32, ticket uint32, nanos int64) {
		require.Equal(t, uint32(1), atomic.LoadUint32(d.sleepers), "the sleeper was counted before its sleep")
		require.Same(t, d.word, word)
		require.Equal(t, uint32(7), ticket)
		require.Equal(t, int64(2e9+5), nanos)
	}, 7, 2e9+5)
	d.sleep(func(_ *uint32, _ uint32, nanos int64) { require.Negative(t, nanos) }, 7, -1)
	require.Zero(t, atomic.LoadUint32(d.sleepers))
	require.Zero(t, faultOf(d.Ring))
	require.Equal(t, uint32(2), d.Prepare())
}
