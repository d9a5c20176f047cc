package actors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

func TestAddressText(t *testing.T) {
	for _, c := range []struct {
		rank  int
		epoch uint32
		text  string
	}{{0, 0, "rank:0"}, {12, 0, "rank:12"}, {3, 7, "rank:3@7"}, {1<<31 - 1, 1<<32 - 1, "rank:2147483647@4294967295"}} {
		require.Equal(t, c.text, port.Address(c.rank, c.epoch))
		rank, epoch, err := actors.ParseAddress(c.text)
		require.NoError(t, err)
		require.Equal(t, c.rank, rank)
		require.Equal(t, c.epoch, epoch)
	}
	for _, bad := range []string{
		"", "nonhost", "rank:", "rank:-1", "rank:01", "rank:1@", "rank:1@0", "rank:1@x", "rank:1@4294967296", " rank:1", "rank:1 ",
		"rank:+1", "rank:1@+1", "rank:1@01", "rank:1@@2", "rank:@1", "rank:2147483648", "rank:18446744073709551617", "rank:/", "rank::",
	} {
		_, _, err := actors.ParseAddress(bad)
		require.ErrorIs(t, err, actors.ErrNoRank, bad)
	}
}
