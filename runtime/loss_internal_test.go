package runtime

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// TestLossInEitherOrder: rank 0 learns of the loss of rank 2 from its own operation, from rank 1, which
// has broken the communicator because of the loss, or from both. In each case the operation ends with an
// error that contains the loss.
func TestLossInEitherOrder(t *testing.T) {
	cause := &PeerError{Rank: 2, Op: "receive", Cause: &transport.PeerDown{Peer: 2, Cause: errors.New("it died")}}
	elsewhere := func(w *World) error { return w.parseCause(1, appendCause(nil, cause)) }
	unrelated := func(w *World) error { return w.parseCause(1, appendCause(nil, errors.New("out of step"))) }
	for name, c := range map[string]struct {
		err    error
		broken func(w *World) error
	}{
		"the loss is met, the communicator stands":              {cause, nil},
		"the loss is met, and the break was heard":              {cause, elsewhere},
		"the loss is met, broken for another reason":            {cause, unrelated},
		"the break is heard while something else is waited for": {ErrCanceled, elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, Local(3, func(w *World) error {
				comm, err := w.Comm().Dup()
				if err != nil || w.Rank() != 0 {
					return err
				}
				if c.broken != nil {
					w.broken(comm.core, &BrokenError{Comm: "x", Rank: 1, Cause: c.broken(w)}, nil)
				}
				err = comm.failed(c.err)
				var lost *PeerError
				require.ErrorAs(t, err, &lost)
				require.Equal(t, 2, lost.Rank)
				require.Equal(t, c.broken != nil, errors.Is(err, ErrCommBroken))
				require.ErrorContains(t, err, "it died")
				return nil
			}))
		})
	}
}

// TestCauseOfABreak: parseCause decodes the cause that a rank sends when it breaks a communicator. It does not decode
// a malformed cause as the loss of a rank.
func TestCauseOfABreak(t *testing.T) {
	require.NoError(t, Local(1, func(w *World) error {
		for _, b := range [][]byte{nil, {0}, {0x80}, {2, 'x'}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}} {
			var lost *PeerError
			require.NotErrorAs(t, w.parseCause(0, b), &lost, "%v", b)
		}
		require.EqualError(t, w.parseCause(0, appendCause(nil, errors.New("why"))), "why")
		return nil
	}))
}
