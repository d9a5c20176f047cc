package codec_test

import (
	"encoding/hex"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// here is the address of the rank that encodes and decodes the heads.
const here = "rank:1"

// heads has heads and their encoded bytes.
var heads = map[string]struct {
	head  codec.Head
	bytes string
}{
	"empty":   {codec.Head{}, ""},
	"name":    {codec.Head{Name: "ab"}, "01" + "0200" + "6162"},
	"sender":  {codec.Head{Sender: actor.NewPID(here, "x")}, "02" + "0100" + "78"},
	"foreign": {codec.Head{Sender: actor.NewPID("rank:2", "x")}, "06" + "0100" + "78" + "0600" + "72616e6b3a32"},
	"headers": {codec.Head{Headers: map[string]string{"k": "v"}}, "08" + "0100" + "0100" + "6b" + "0100" + "76"},
	"all": {
		codec.Head{Name: "n", Sender: actor.NewPID("rank:0", ""), Headers: map[string]string{"": ""}},
		"0f" + "0100" + "6e" + "0000" + "0600" + "72616e6b3a30" + "0100" + "0000" + "0000",
	},
}

// parsed returns the head that b contains.
func parsed(b []byte) (codec.Head, error) {
	r, err := codec.ParseHead(b)
	h := codec.Head{Name: string(r.Name), Headers: r.Headers}
	if r.HasSender {
		h.Sender = actor.NewPID(here, string(r.Sender))
		if r.Address != nil {
			h.Sender.Address = string(r.Address)
		}
	}
	return h, err
}

func TestHeadsOnTheWire(t *testing.T) {
	for name, c := range heads {
		b, err := c.head.Append(nil, here)
		require.NoError(t, err)
		require.Equal(t, c.bytes, hex.EncodeToString(b), name)
		got, err := parsed(b)
		require.NoError(t, err)
		require.Equal(t, c.head.Name, got.Name)
		require.Equal(t, c.head.Headers, got.Headers)
		if c.head.Sender == nil {
			require.Nil(t, got.Sender)
		} else {
			require.True(t, c.head.Sender.Equal(got.Sender))
		}
		for i := 1; i < len(b); i++ {
			_, err := codec.ParseHead(b[:i])
			require.ErrorIs(t, err, codec.ErrMalformed, "%s cut after %d bytes", name, i)
		}
		_, err = codec.ParseHead(append(b, 0, 0))
		require.ErrorIs(t, err, codec.ErrMalformed, "%s with two bytes more", name)
	}
	for name, b := range map[string][]byte{"unknown bit": {0x10}, "an address without a sender": {0x04, 0, 0}} {
		_, err := codec.ParseHead(b)
		require.ErrorIs(t, err, codec.ErrMalformed, name)
	}
	h := codec.Head{Name: string(make([]byte, 1<<16))}
	_, err := h.Append(nil, "")
	require.ErrorIs(t, err, codec.ErrHead)
}

// TestSoleStrings checks that Sole finds the string of a head that contains only one string, of
// any length.
func TestSoleStrings(t *testing.T) {
	long := string(make([]byte, 300))
	for name, c := range map[string]struct {
		head         codec.Head
		name, sender string
	}{
		"empty":   {codec.Head{}, "", ""},
		"name":    {codec.Head{Name: "ab"}, "ab", ""},
		"long":    {codec.Head{Name: long}, long, ""},
		"sender":  {codec.Head{Sender: actor.NewPID(here, "x")}, "", "x"},
		"foreign": {codec.Head{Sender: actor.NewPID("rank:2", "x")}, "", ""},
		"both":    {codec.Head{Name: "n", Sender: actor.NewPID(here, "x")}, "", ""},
		"headers": {codec.Head{Name: "n", Headers: map[string]string{"k": "v"}}, "", ""},
	} {
		b, err := c.head.Append(nil, here)
		require.NoError(t, err)
		require.Equal(t, c.name, string(codec.Sole(b, codec.HeadName)), name)
		require.Equal(t, c.sender, string(codec.Sole(b, codec.HeadSender)), name)
	}
}

func FuzzHead(f *testing.F) {
	for _, c := range heads {
		b, err := hex.DecodeString(c.bytes)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parsed(b)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		again, err := h.Append(nil, here)
		require.NoError(t, err)
		back, err := parsed(again)
		require.NoError(t, err)
		require.Equal(t, h.Name, back.Name)
		require.Equal(t, h.Sender == nil, back.Sender == nil)
		require.True(t, h.Sender == nil || h.Sender.Equal(back.Sender))
		require.Equal(t, len(h.Headers), len(back.Headers))
	})
}

func TestTags(t *testing.T) {
	require.Equal(t, uint32(0x302), codec.Tag(codec.KindUser, 3))
	kind, head := codec.SplitTag(codec.Tag(codec.KindSettle, 1<<23-1))
	require.Equal(t, codec.KindSettle, kind)
	require.Equal(t, 1<<23-1, head)
	require.Less(t, codec.Tag(codec.KindEnd, 1<<23-1), uint32(1<<31), "the engine's limit")
}

func TestAnnouncements(t *testing.T) {
	b := codec.AppendAnnouncement([]byte{1}, 5000, 7)
	require.Equal(t, "01"+"8813000000000000"+"07000000", hex.EncodeToString(b))
	length, tag, err := codec.ParseAnnouncement(b[1:])
	require.NoError(t, err)
	require.Equal(t, 5000, length)
	require.Equal(t, uint32(7), tag)
	for name, bad := range map[string][]byte{
		"short":   b[1:12],
		"long":    b,
		"length":  codec.AppendAnnouncement(nil, 1<<46+1, 7),
		"tag":     codec.AppendAnnouncement(nil, 1, 1<<31),
		"nothing": nil,
	} {
		_, _, err := codec.ParseAnnouncement(bad)
		require.ErrorIs(t, err, codec.ErrMalformed, name)
	}
}
