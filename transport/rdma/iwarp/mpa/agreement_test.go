package mpa_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// ours returns the offer of this module's provider.
func ours() mpa.Offer {
	return mpa.Offer{Revision: 2, CRC: true, IRD: 16, ORD: 16, PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead}
}

// meet makes an agreement between an active and a passive side with these offers.
func meet(t *testing.T, active, passive mpa.Offer) (a, p mpa.Agreement, err error) {
	t.Helper()
	request, err := active.Request([]byte("question"))
	require.NoError(t, err)
	require.NoError(t, mpa.Screen(request))
	reply, p, err := passive.Accept(request, []byte("answer"))
	require.NoError(t, err)
	_, private, err := reply.Split()
	require.NoError(t, err)
	require.Equal(t, "answer", string(private))
	reply, _, err = mpa.ParseFrame(reply.Append(nil))
	require.NoError(t, err)
	a, err = active.Conclude(reply)
	return a, p, err
}

func TestRequestIsTheVectorOfTheRFC(t *testing.T) {
	f, err := ours().Request(nil)
	require.NoError(t, err)
	require.Equal(t, unhex(t, requestHex+"50 02 0004 8010 c010"), f.Append(nil))
	_, err = ours().Request(make([]byte, mpa.PrivateDataMax-mpa.EnhancedLength))
	require.NoError(t, err)
	_, err = ours().Request(make([]byte, mpa.PrivateDataMax-mpa.EnhancedLength+1))
	require.ErrorIs(t, err, mpa.ErrPrivateData)
}

// TestDepthsOfAllPairs checks RFC 6581 section 9.1 for all combinations of some depths. The ORD of a side never
// exceeds the IRD of the other side. It is as large as the two depths permit.
func TestDepthsOfAllPairs(t *testing.T) {
	depths := []uint16{0, 1, 2, 3, 16, mpa.DepthMax}
	for _, ai := range depths {
		for _, ao := range depths {
			for _, pi := range depths {
				for _, po := range depths {
					active, passive := ours(), ours()
					active.IRD, active.ORD, passive.IRD, passive.ORD = ai, ao, pi, po
					a, p, err := meet(t, active, passive)
					name := fmt.Sprintf("active %d/%d passive %d/%d", ai, ao, pi, po)
					require.NoError(t, err, name)
					require.Equal(t, min(ao, pi), a.ORD, name)
					require.Equal(t, min(po, ai), p.ORD, name)
					require.LessOrEqual(t, a.ORD, p.IRD, name)
					require.LessOrEqual(t, p.ORD, a.IRD, name)
					require.Equal(t, []uint16{ai, ao}, []uint16{p.PeerIRD, p.PeerORD}, name)
					require.Equal(t, []uint16{p.IRD, p.ORD}, []uint16{a.PeerIRD, a.PeerORD}, name)
					require.Equal(t, mpa.RTRWrite, a.RTR, name)
					require.Equal(t, mpa.RTRWrite, p.RTR, name)
				}
			}
		}
	}
}

func TestCRCIsOnWhenEitherSideAsks(t *testing.T) {
	for _, c := range []struct{ active, passive, on bool }{
		{false, false, false},
		{false, true, true},
		{true, false, true},
		{true, true, true},
	} {
		active, passive := ours(), ours()
		active.CRC, passive.CRC = c.active, c.passive
		a, p, err := meet(t, active, passive)
		require.NoError(t, err)
		require.Equal(t, c.on, a.CRC)
		require.Equal(t, c.on, p.CRC)
	}
	// The peer answers C=0 (no CRC) to a request with C=1. CRCs are still used, because one side wants them.
	a, err := ours().Conclude(mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: unhex(t, "8010 8010")})
	require.NoError(t, err)
	require.True(t, a.CRC)
}

func TestRevisionOne(t *testing.T) {
	active := ours()
	active.Revision = 1
	a, p, err := meet(t, active, ours())
	require.NoError(t, err)
	for _, got := range []mpa.Agreement{a, p} {
		require.Equal(t, mpa.Agreement{
			CRC: true, IRD: 16, ORD: 16, PeerIRD: mpa.DepthUnstated, PeerORD: mpa.DepthUnstated,
		}, got)
	}
}

func TestRTR(t *testing.T) {
	all := mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead
	for _, c := range []struct{ active, passive, want mpa.RTR }{
		{all, all, mpa.RTRWrite},
		{mpa.RTRRead | mpa.RTRSend, all, mpa.RTRRead},
		{mpa.RTRSend, all, mpa.RTRSend},
		{all, mpa.RTRRead, mpa.RTRRead},
		{mpa.RTRSend, mpa.RTRWrite, 0}, // siw answers Write even if only Send was offered
		{0, mpa.RTRWrite, 0},
	} {
		active, passive := ours(), ours()
		active.RTR, passive.RTR = c.active, c.passive
		a, p, err := meet(t, active, passive)
		if c.want == 0 {
			require.ErrorIs(t, err, mpa.ErrRTR)
			require.Equal(t, mpa.ErrRTR, mpa.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, a.RTR)
		require.Equal(t, c.want, p.RTR)
	}
	t.Run("a peer without the model needs none", func(t *testing.T) {
		active := ours()
		active.PeerToPeer = false
		a, p, err := meet(t, active, ours())
		require.NoError(t, err)
		require.Zero(t, a.RTR)
		require.Zero(t, p.RTR)
		a, err = ours().Conclude(mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: unhex(t, "0010 0010")})
		require.NoError(t, err)
		require.Zero(t, a.RTR)
	})
	t.Run("an RTR by Read raises the responder's IRD to one", func(t *testing.T) {
		active, passive := ours(), ours()
		active.RTR, passive.RTR, passive.IRD = mpa.RTRRead, mpa.RTRRead, 0
		a, p, err := meet(t, active, passive)
		require.NoError(t, err)
		require.Equal(t, uint16(1), p.IRD)
		require.Equal(t, uint16(1), a.ORD)
	})
}

func TestUnstatedDepthsAreLeftAlone(t *testing.T) {
	request := mpa.Frame{Revision: 2, Enhanced: true, PrivateData: unhex(t, "3fff 3fff")}
	reply, p, err := ours().Accept(request, nil)
	require.NoError(t, err)
	require.Equal(t, unhex(t, "3fff 3fff"), reply.PrivateData)
	require.Equal(t, []uint16{16, 16}, []uint16{p.IRD, p.ORD})
	a, err := ours().Conclude(mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: unhex(t, "3fff 3fff")})
	require.NoError(t, err)
	require.Equal(t, []uint16{16, 16}, []uint16{a.IRD, a.ORD})
}

func TestScreen(t *testing.T) {
	for name, c := range map[string]struct {
		frame mpa.Frame
		want  error
	}{
		"revision 1":           {mpa.Frame{Revision: 1}, nil},
		"revision 2, plain":    {mpa.Frame{Revision: 2}, nil},
		"revision 0":           {mpa.Frame{}, mpa.ErrRevision},
		"revision 3":           {mpa.Frame{Revision: 3}, mpa.ErrRevision},
		"a reply":              {mpa.Frame{Reply: true, Revision: 2}, mpa.ErrUnasked},
		"markers":              {mpa.Frame{Revision: 1, Markers: true}, mpa.ErrMarkers},
		"enhanced without any": {mpa.Frame{Revision: 2, Enhanced: true, PrivateData: make([]byte, 3)}, mpa.ErrEnhanced},
	} {
		require.ErrorIs(t, mpa.Screen(c.frame), c.want, name)
		_, _, err := ours().Accept(c.frame, nil)
		require.ErrorIs(t, err, c.want, name)
	}
}

func TestKin(t *testing.T) {
	asking := ours()
	asking.Kin = true
	a, p, err := meet(t, asking, ours())
	require.NoError(t, err)
	require.True(t, a.Kin)
	require.True(t, p.Kin)
	a, p, err = meet(t, ours(), ours())
	require.NoError(t, err)
	require.False(t, a.Kin)
	require.False(t, p.Kin)
	for name, flags := range map[string]string{"zeros": "50", "an echo": "51", "everything": "5f"} {
		reply, _, err := mpa.ParseFrame(unhex(t, replyHex+flags+"02 0004 8010 8010"))
		require.NoError(t, err)
		a, err := asking.Conclude(reply)
		require.NoError(t, err)
		require.False(t, a.Kin, name)
	}
}

func TestReject(t *testing.T) {
	request, err := ours().Request(nil)
	require.NoError(t, err)
	passive := ours()
	passive.IRD, passive.ORD = 3, 4
	reply, err := passive.Reject(request, []byte("no"))
	require.NoError(t, err)
	a, err := ours().Conclude(reply)
	require.ErrorIs(t, err, mpa.ErrRejected)
	require.Equal(t, []uint16{3, 4}, []uint16{a.PeerIRD, a.PeerORD}, "both depths go up on a reject")
	_, private, err := reply.Split()
	require.NoError(t, err)
	require.Equal(t, "no", string(private))

	for revision, want := range map[uint8]uint8{0: 1, 1: 1, 2: 2, 9: 2} {
		reply, err := passive.Reject(mpa.Frame{Revision: revision}, nil)
		require.NoError(t, err)
		require.Equal(t, want, reply.Revision)
	}
	reply, err = passive.Reject(mpa.Frame{Revision: 2, Enhanced: true}, nil)
	require.NoError(t, err)
	require.False(t, reply.Enhanced, "a malformed request gets a plain answer")
}

func TestConcludeRefuses(t *testing.T) {
	depths := unhex(t, "8010 8010")
	for name, c := range map[string]struct {
		reply mpa.Frame
		want  error
		code  mpa.FaultError
	}{
		"a request":              {mpa.Frame{Revision: 2, Enhanced: true, PrivateData: depths}, mpa.ErrActiveActive, mpa.ErrFrame},
		"revision 0":             {mpa.Frame{Reply: true}, mpa.ErrRevision, mpa.ErrFrame},
		"revision 3":             {mpa.Frame{Reply: true, Revision: 3}, mpa.ErrRevision, mpa.ErrFrame},
		"markers":                {mpa.Frame{Reply: true, Revision: 2, Markers: true, Enhanced: true, PrivateData: depths}, mpa.ErrMarkers, mpa.ErrFrame},
		"plain answer":           {mpa.Frame{Reply: true, Revision: 1}, mpa.ErrEnhanced, mpa.ErrFrame},
		"depths cut":             {mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: depths[:3]}, mpa.ErrEnhanced, mpa.ErrFrame},
		"more ORD than our IRD":  {mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: unhex(t, "8010 8011")}, mpa.ErrInsufficient, mpa.ErrInsufficient},
		"no RTR that we can":     {mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: unhex(t, "c010 0010")}, mpa.ErrRTR, mpa.ErrRTR},
		"Read RTR with IRD zero": {mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: unhex(t, "8000 4010")}, mpa.ErrRTR, mpa.ErrRTR},
	} {
		_, err := ours().Conclude(c.reply)
		require.ErrorIs(t, err, c.want, name)
		require.Equal(t, c.code, mpa.CodeOf(err), name)
	}
	plain := ours()
	plain.Revision = 1
	_, err := plain.Conclude(mpa.Frame{Reply: true, Revision: 2})
	require.ErrorIs(t, err, mpa.ErrRevision, "an answer in a revision that was not asked for")
}
