package iwarp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// patient makes a side whose peers may take any time to leave, and what counts its
// sockets.
func patient(t *testing.T) (s *side, sockets func() int) {
	t.Helper()
	spied := &spy{Provider: iwarp.New(iwarp.Config{CloseTimeout: time.Hour})}
	adapter, err := verbs.Open(spied, loopback)
	require.NoError(t, err)
	s = wrap(t, adapter, 64)
	s.provider = spied.Provider
	return s, func() int { return iwarp.Open(spied.devices[0]) }
}

// TestGoodbyeReadsSoMuch: a peer that does not stop when it is told to is read for a
// while only.
func TestGoodbyeReadsSoMuch(t *testing.T) {
	s, sockets := patient(t)
	p := dial(t, s, s.listen().Address())
	ep := s.endpoint()
	p.open(strangerOffer(), ep)
	p.send(p.fpdu(write(0xdeadbeef, 0, []byte("x"))))
	require.ErrorIs(t, s.event(ep).Err, ddp.ErrSTag)
	require.Equal(t, 1, sockets())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 1<<20); ; {
			if _, err := p.conn.Write(b); err != nil {
				return
			}
		}
	}()
	p.pump(func() bool { return sockets() == 0 })
	<-ended
}

// TestGoodbyesAreFew: of many peers that were told to stop, and neither do nor close,
// the first are closed. They were told all the same.
func TestGoodbyesAreFew(t *testing.T) {
	const most, more = 64, 3
	s, sockets := patient(t)
	l := s.listen()
	var peers []*peer
	for range most + more {
		p := dial(t, s, l.Address())
		ep := s.endpoint()
		p.open(strangerOffer(), ep)
		p.send(p.fpdu(write(0xdeadbeef, 0, []byte("x"))))
		require.ErrorIs(t, s.event(ep).Err, ddp.ErrSTag)
		peers = append(peers, p)
		require.Equal(t, min(len(peers), most), sockets())
	}
	for i, p := range peers {
		require.Equal(t, rdmap.TerminateOpcode, rdmap.Opcode(p.ulpdu()[1]&15))
		p.ended()
		_, err := p.conn.Write([]byte{0})
		if i < more {
			require.Error(t, err, "reset")
		} else {
			require.NoError(t, err, "still listened to")
		}
	}
}
