package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSigned checks that the report of a rank begins with the name of the rank exactly once.
func TestSigned(t *testing.T) {
	for text, want := range map[string]string{
		"boom\n":           "rank 1: boom",
		"rank 1 waits\n\n": "rank 1 waits",
		"rank 1: boom":     "rank 1: boom",
		"rank 12 waits":    "rank 1: rank 12 waits",
		"":                 "rank 1: ",
	} {
		require.Equal(t, want, signed(1, text))
	}
}
