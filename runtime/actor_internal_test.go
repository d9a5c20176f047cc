package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A message whose memory belongs to another World cannot be sent to an actor: the arena of the sending World would give
// away memory of its own.
func TestActorMessageOfAnotherWorldIsRefused(t *testing.T) {
	messages := make(chan *Message, 1)
	refused := make(chan struct{})
	require.NoError(t, Local(2, func(w *World) error {
		if w.Rank() == 1 {
			defer close(refused)
			m := <-messages
			_, alive := (*actorPort)(w).Bytes(m)
			require.False(t, alive)
			return nil
		}
		b, err := Alloc[byte](w, 1000)
		require.NoError(t, err)
		m, err := NewMessage(b)
		require.NoError(t, err)
		messages <- m
		<-refused
		own, alive := (*actorPort)(w).Bytes(m)
		require.True(t, alive)
		require.Len(t, own, 1000)
		m.Close()
		return nil
	}))
}
