package mpa_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// concludeSeeds are the flags, the revision and the private data of replies. Some replies accept, some reject, and
// some make Conclude return another error.
var concludeSeeds = []string{
	"50 02 0004 8010 8010", "50 02 0004 c010 8010", "50 02 0004 8001 4010", "50 02 0004 3fff 3fff",
	"52 02 0004 8010 8010", "70 02 0004 8003 8004", "70 02 0008 8003 8004 6e6f7065", "d0 02 0004 8010 8010",
	"40 01 0000", "60 01 0000", "00 01 0006 616e73776572", "50 00 0000", "50 03 0004 8010 8010",
	"50 02 0003 8010 80", "50 02 0000", "50 02 0004 8010 8011", "50 02 0004 c010 0010", "50 02 0004 8000 4010",
}

// concluded checks the result of Conclude for a reply of arbitrary bytes.
func concluded(t *testing.T, offer mpa.Offer, b []byte) {
	t.Helper()
	reply, n, err := mpa.ParseFrame(b)
	if err != nil {
		return
	}
	a, err := offer.Conclude(reply)
	again, errAgain := offer.Conclude(reply)
	require.Equal(t, a, again)
	require.Equal(t, err, errAgain)
	if err != nil {
		require.NotZero(t, mpa.CodeOf(err), "a Terminate has a code")
		return
	}
	require.True(t, reply.Reply)
	require.False(t, reply.Reject || reply.Markers)
	require.Equal(t, offer.Revision >= 2, a.Enhanced)
	require.Equal(t, offer.IRD, a.IRD)
	require.LessOrEqual(t, a.ORD, offer.ORD)
	require.LessOrEqual(t, a.ORD, a.PeerIRD, "not more reads than the peer serves")
	if a.PeerORD != mpa.DepthUnstated {
		require.LessOrEqual(t, a.PeerORD, a.IRD, "not more reads than this side serves")
	}
	require.Zero(t, a.RTR&^offer.RTR, "an RTR that was offered")
	require.Zero(t, a.RTR&(a.RTR-1), "one RTR at most")
	require.False(t, a.RTR == mpa.RTRRead && a.ORD == 0, "a Read that may not be sent")
	require.True(t, a.CRC || !offer.CRC)
	require.True(t, offer.Kin || !a.Kin)
	_, _, err = mpa.ParseFrame(b[:n-1])
	require.ErrorIs(t, err, mpa.ErrShort, "a reply that lacks a byte")
}

// offerOf makes an offer from two arbitrary words.
func offerOf(flags uint8, depths uint16) mpa.Offer {
	return mpa.Offer{
		Revision: 1 + flags&1, CRC: flags&2 != 0, Kin: flags&4 != 0, PeerToPeer: flags&8 != 0,
		RTR: mpa.RTR(flags>>4) & (mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead), IRD: depths >> 8, ORD: depths & 0xff,
	}
}

// FuzzConclude calls Conclude with arbitrary offers and replies.
func FuzzConclude(f *testing.F) {
	for _, seed := range concludeSeeds {
		for _, flags := range []uint8{0x00, 0x07, 0x0f, 0x6f, 0x7f, 0x7e} {
			f.Add(flags, uint16(0x1010), unhex(f, replyHex+seed))
			f.Add(flags, uint16(0), unhex(f, requestHex+seed))
		}
	}
	f.Fuzz(func(t *testing.T, flags uint8, depths uint16, b []byte) { concluded(t, offerOf(flags, depths), b) })
}

// TestConcludeTakesNoPartOfAReply shortens each reply to each smaller length. The test checks that a shortened
// frame is reported as short. It also shortens the private data of the parsed reply so far that the depths (IRD
// and ORD) are incomplete. Conclude must refuse such a reply.
func TestConcludeTakesNoPartOfAReply(t *testing.T) {
	for _, seed := range concludeSeeds {
		whole := unhex(t, replyHex+seed)
		for n := range whole {
			_, _, err := mpa.ParseFrame(whole[:n])
			require.ErrorIs(t, err, mpa.ErrShort, "%s cut to %d", seed, n)
		}
		reply, _, err := mpa.ParseFrame(whole)
		require.NoError(t, err, seed)
		for n := range min(len(reply.PrivateData), mpa.EnhancedLength) {
			cut := reply
			cut.PrivateData = reply.PrivateData[:n]
			if _, err := ours().Conclude(cut); cut.Revision == ours().Revision {
				require.ErrorIs(t, err, mpa.ErrEnhanced, "%s with %d bytes", seed, n)
			} else {
				require.Error(t, err, "%s with %d bytes", seed, n)
			}
		}
	}
}
