package main

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// TestRefused checks that the error contains the farm's text or the error of the request, and nothing else.
func TestRefused(t *testing.T) {
	require.EqualError(t, refused("not saved", nil), "the farm gives no range: not saved")
	err := refused(nil, actor.ErrTimeout)
	require.EqualError(t, err, "the farm gives no range: future: timeout")
	require.ErrorIs(t, err, actor.ErrTimeout)
}
