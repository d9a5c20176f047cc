package actors

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReprieveOfALaterWait checks which goroutine ends a reprieve. The goroutine that ends a wait must leave
// the reprieve as it is, because the actor may have got it for a later wait. The actor ends the reprieve
// when it begins to wait.
func TestReprieveOfALaterWait(t *testing.T) {
	s := &System{cfg: Config{}.withDefaults()}
	m := newMailbox(s, false)
	wait := func() {
		begins, held := s.hold(m, "target", 1)
		require.True(t, held)
		require.True(t, begins)
		require.True(t, m.held())
	}
	wait()
	m.reprieve.Store(reprieveLength)
	_, held := s.hold(m, "target", 1)
	require.True(t, held)
	require.False(t, m.held(), "the wait is the same")
	s.release(m, "target", 2)
	require.EqualValues(t, reprieveLength, m.reprieve.Load())
	wait()
}
