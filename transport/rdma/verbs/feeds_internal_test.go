package verbs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// stream is a stream that feeds a completion queue.
type stream struct {
	kind  Stream
	flags CompletionFlags
}

// lawful applies the four rules of dat_ep_create(3DAT) to each pair of streams.
func lawful(list []stream) bool {
	dto := func(s stream) bool { return s.kind == StreamReceive || s.kind == StreamRequest }
	for _, s := range list {
		for _, other := range list {
			switch {
			case dto(s) && s.kind == other.kind && s.flags != other.flags:
				return false
			case dto(s) && !dto(other) && s.flags != CompletionThreshold:
				return false
			case dto(s) && s.flags == CompletionUnsignalled && other.flags != CompletionUnsignalled:
				return false
			case s.kind == StreamReceive && s.flags == CompletionSolicitedWait && other.kind != StreamReceive:
				return false
			}
		}
	}
	return true
}

// TestFeedsAgainstTheRules compares feeds.legal with lawful for every list of up to three
// streams.
func TestFeedsAgainstTheRules(t *testing.T) {
	kinds := []stream{
		{StreamReceive, CompletionThreshold},
		{StreamReceive, CompletionUnsignalled},
		{StreamReceive, CompletionSolicitedWait},
		{StreamRequest, CompletionThreshold},
		{StreamRequest, CompletionUnsignalled},
		{StreamConnection, CompletionThreshold},
		{StreamConnectionRequest, CompletionThreshold},
		{StreamLimit, CompletionThreshold},
	}
	legal := 0
	var try func(list []stream)
	try = func(list []stream) {
		var f feeds
		for _, s := range list {
			f.add(s.kind, s.flags, 1)
		}
		require.Equal(t, lawful(list), f.legal(), "%v", list)
		require.Equal(t, len(list) > 0, f.any())
		if f.legal() {
			legal++
		}
		if len(list) < 3 {
			for _, k := range kinds {
				try(append(list[:len(list):len(list)], k))
			}
		}
		for _, s := range list {
			f.add(s.kind, s.flags, -1)
		}
		require.Equal(t, feeds{}, f)
	}
	try(nil)
	require.Greater(t, legal, 100)
}
