package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTakenWorkIsNoCrowd checks that pollers do not let other goroutines run for the sake of a Work that was taken.
func TestTakenWorkIsNoCrowd(t *testing.T) {
	e, err := New(Config{Size: 1})
	require.NoError(t, err)
	ran := make(chan bool)
	works := [2]Work{{Run: func() {}}, {Run: func() { ran <- true }}}
	e.Go(&works[0])
	if e.Take(&works[0]) {
		works[0].Run()
	}
	e.Go(&works[1])
	<-ran
	require.Zero(t, e.crowd.Load())
	require.NoError(t, e.Close())
}
