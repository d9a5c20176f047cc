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

// closedPage returns a page that faults on every access until open is called. The race detector's
// atomic operations would crash on such a page, so this file is not built with the race detector.
func closedPage(t *testing.T) (s segment, open func()) {
	t.Helper()
	b, err := unix.Mmap(-1, 0, pageBytes, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return segmentOf(b), func() { require.NoError(t, unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE)) }
}

// faultOf returns the address at which f faulted, or 0 if it did not fault.
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

// Ring increments the word before it reads the number of sleepers, and a sleeper increments that
// number before it compares the word. With any other order a wake-up can be lost. The test detects
// by the address of a fault which word is accessed first.
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
	require.Equal(t, uint32(1), atomic.LoadUint32(d.word), "Ring increments the word before it reads the number of sleepers")
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
