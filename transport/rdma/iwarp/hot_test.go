package iwarp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestEpollFails lets epoll_ctl fail when the device adds the socket of a connection that has become quiet. The
// next messages must arrive, both while epoll fails and after it works again.
func TestEpollFails(t *testing.T) {
	const messages, quiet = 20, 1000
	for _, c := range []struct {
		name   string
		repair bool
	}{{"permanently", false}, {"for a time", true}} {
		t.Run(c.name, func(t *testing.T) {
			s := &spy{Provider: iwarp.New(iwarp.Config{})}
			adapter, err := verbs.Open(s, loopback)
			require.NoError(t, err)
			a, b := newSide(t, iwarp.Config{}, 64), wrap(t, adapter, 64)
			x, y := join(t, a, b)
			send := func(id uint64) {
				require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: id}))
				require.NoError(t, x.Post(&verbs.WorkRequest{Op: verbs.OpSend}))
				b.done(y, id, a)
			}
			for i := range uint64(messages) { // after this loop the socket is no longer in epoll
				send(i)
			}
			restore := iwarp.SpoilEpoll(s.devices[0])
			t.Cleanup(restore)
			for range quiet { // in this loop the device tries to add the socket to epoll again
				b.poll()
			}
			if c.repair {
				restore()
				b.poll()
			}
			for i := range uint64(messages) {
				send(messages + i)
			}
		})
	}
}
