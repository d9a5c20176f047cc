package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

// TestStream checks that the job succeeds over shared memory and over TCP.
func TestStream(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		t.Run(transport, func(t *testing.T) {
			out := launch.ExampleWith(t, 3, []string{"-transport", transport, "-rdma-device", "none"}, "-rounds", "3", "-long", "300000")
			require.Equal(t, "round 1\nround 2\nround 3\n3 rounds: each message once, in order and whole\n", out)
		})
	}
}

// TestReceiver checks that messages in order are accepted. It also checks that check returns an error for a message
// that is lost, duplicated, damaged, too short, from an unknown rank, or superfluous.
func TestReceiver(t *testing.T) {
	message := func(sender int, number uint64) []byte {
		b := make([]byte, head+int(number%100))
		fill(b, sender, number)
		return b
	}
	damaged := message(0, 1)
	damaged[head] ^= 1
	for name, c := range map[string]struct {
		messages [][]byte
		err      string
	}{
		"in order":         {[][]byte{message(0, 0), message(1, 0), message(0, 1), message(1, 1)}, ""},
		"lost":             {[][]byte{message(0, 1)}, "got message 1 of rank 0 with 17 bytes where number 0 with 16 was due"},
		"twice":            {[][]byte{message(0, 0), message(0, 0)}, "got message 0 of rank 0"},
		"damaged":          {[][]byte{message(0, 0), damaged}, "got message 1 of rank 0"},
		"cut":              {[][]byte{message(0, 0)[:head-1]}, "got 15 bytes"},
		"of a stranger":    {[][]byte{message(2, 0)}, "got a message of rank 2"},
		"more than is due": {[][]byte{message(0, 0), message(0, 1), message(0, 2), message(0, 3), message(0, 4)}, "and 0 were to come"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &receiver{next: make([]uint64, 2), left: 4}
			var err error
			for _, m := range c.messages {
				if err = r.check(m); err != nil {
					break
				}
				r.left--
			}
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}
