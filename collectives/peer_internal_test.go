package collectives

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// If a message with the right label is longer than the receiver expects, the receiver gets a TruncatedError. If the
// message is shorter, the receiver gets ErrLength with both lengths.
func TestMessagesOfAnotherLength(t *testing.T) {
	const want = 4
	for name, meet := range map[string]func(p *peer, out, in []byte) error{
		"receive": func(p *peer, out, in []byte) error {
			if p.rank == 0 {
				return p.Send(1, out)
			}
			return p.Recv(0, in)
		},
		"exchange": func(p *peer, out, in []byte) error { return p.Exchange(1-p.rank, out, 1-p.rank, in) },
	} {
		for sent := range want + 2 {
			t.Run(fmt.Sprintf("%s/%d", name, sent), func(t *testing.T) {
				met := make([]error, 2)
				require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
					p := &peer{comm: w.Comm(), rank: w.Rank(), size: 2, tag: tagBlocking}
					p.label.Set(7)
					out := make([]byte, want)
					if p.rank == 0 {
						out = make([]byte, sent)
					}
					met[p.rank] = meet(p, out, make([]byte, want))
					return nil
				}))
				require.NoError(t, met[0])
				switch {
				case sent == want:
					require.NoError(t, met[1])
				case sent > want:
					var long *runtime.TruncatedError
					require.ErrorAs(t, met[1], &long)
				default:
					require.ErrorIs(t, met[1], ErrLength)
					require.ErrorContains(t, met[1], fmt.Sprintf("rank 0 sent %d bytes, not %d", sent, want))
				}
			})
		}
	}
}

// If GORUN_CMA is 0 or false, reader returns nil: the collectives do not read the memory of other processes.
func TestReaderIsForbidden(t *testing.T) {
	for value, allowed := range map[string]bool{"0": false, "false": false, "1": true, "": true} {
		t.Setenv("GORUN_CMA", value)
		r, err := reader()
		require.NoError(t, err)
		require.Equal(t, allowed, r != nil, "GORUN_CMA=%s", value)
	}
}
