package actors_test

import (
	"encoding/hex"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// covers are heads and their bytes.
var covers = map[string]struct {
	cover actors.Cover
	bytes string
}{
	"name":    {actors.Cover{Name: "ab"}, "01" + "0200" + "6162"},
	"sender":  {actors.Cover{Sender: actor.NewPID("rank:1", "x")}, "02" + "0100" + "78"},
	"foreign": {actors.Cover{Sender: actor.NewPID("rank:2", "x")}, "06" + "0100" + "78" + "0600" + "72616e6b3a32"},
	"headers": {actors.Cover{Headers: map[string]string{"k": "v"}}, "08" + "0100" + "0100" + "6b" + "0100" + "76"},
	"all": {
		actors.Cover{Name: "n", Sender: actor.NewPID("rank:0", ""), Headers: map[string]string{"": ""}},
		"0f" + "0100" + "6e" + "0000" + "0600" + "72616e6b3a30" + "0100" + "0000" + "0000",
	},
}

func TestHeadsOnTheWire(t *testing.T) {
	for name, c := range covers {
		b, err := actors.AppendHead(nil, c.cover, "rank:1")
		require.NoError(t, err)
		require.Equal(t, c.bytes, hex.EncodeToString(b), name)
		got, err := actors.ParseHead(b, "rank:1")
		require.NoError(t, err)
		require.Equal(t, c.cover.Name, got.Name)
		require.Equal(t, c.cover.Headers, got.Headers)
		if c.cover.Sender == nil {
			require.Nil(t, got.Sender)
		} else {
			require.True(t, c.cover.Sender.Equal(got.Sender))
		}
		for i := 1; i < len(b); i++ {
			_, err := actors.ParseHead(b[:i], "rank:1")
			require.Error(t, err, "%s cut after %d bytes", name, i)
		}
		_, err = actors.ParseHead(append(b, 0), "rank:1")
		require.Error(t, err, "%s with a byte more", name)
	}
	_, err := actors.ParseHead([]byte{0x10}, "rank:1")
	require.Error(t, err)
	_, err = actors.ParseHead([]byte{0x04, 0, 0}, "rank:1")
	require.Error(t, err, "an address of nobody")
	_, err = actors.AppendHead(nil, actors.Cover{Name: string(make([]byte, 1<<16))}, "")
	require.Error(t, err)
}

func FuzzHead(f *testing.F) {
	for _, c := range covers {
		b, err := hex.DecodeString(c.bytes)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := actors.ParseHead(b, "rank:1")
		if err != nil || len(b) == 0 || c.Name == "" && c.Sender == nil && len(c.Headers) == 0 {
			return
		}
		again, err := actors.AppendHead(nil, c, "rank:1")
		require.NoError(t, err)
		back, err := actors.ParseHead(again, "rank:1")
		require.NoError(t, err)
		require.Equal(t, c.Name, back.Name)
		require.Equal(t, len(c.Headers), len(back.Headers))
	})
}

func TestAddressText(t *testing.T) {
	for _, c := range []struct {
		rank  int
		epoch uint32
		text  string
	}{{0, 0, "rank:0"}, {12, 0, "rank:12"}, {3, 7, "rank:3@7"}, {1<<31 - 1, 1<<32 - 1, "rank:2147483647@4294967295"}} {
		require.Equal(t, c.text, actors.Address(c.rank, c.epoch))
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
