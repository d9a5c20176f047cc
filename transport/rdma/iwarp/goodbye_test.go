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

// patient returns a side with a CloseTimeout of an hour, and a function that returns the number of the side's
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

// TestGoodbyeReadsSoMuch checks that the device stops reading from a peer that goes on sending after a
// Terminate. The device discards a bounded number of bytes and then closes the socket.
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

// TestGoodbyesAreFew checks that the device keeps at most 64 sockets of peers that got a Terminate and have not
// closed their connections. The device closes the oldest sockets. The test also checks that every peer has got
// its Terminate.
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
