package main_test

import (
	"bufio"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// keepOutput simulates an agent with one rank. The agent reports that the rank has exited with code 0, sends a part of
// its output, and ends. If whole is true, it sends the end of the output before it ends.
func keepOutput(version string, whole bool) int {
	if _, err := os.Stdout.Write(link.Preamble(version)); err != nil {
		panic(err)
	}
	c := link.NewConn(bufio.NewReader(os.Stdin), os.Stdout)
	for {
		k, _, err := c.Receive()
		switch {
		case err != nil:
			return 1
		case k == link.KindGreet:
			c.Send(link.KindHello, link.Encode(link.Hello{User: os.Geteuid(), Probe: link.Probe{PID: 1, Nonce: make([]byte, link.NonceBytes)}}))
		case k == link.KindPlan:
			c.Send(link.KindStarted, link.Encode(link.Started{Ranks: []link.Process{{PID: 1 << 30}}}))
			c.Send(link.KindExit, link.Encode(link.Exit{}))
			c.Send(link.KindOutput, link.Target{Stream: link.Stdout}.Append(nil), []byte("part\n"))
			if whole {
				c.Send(link.KindOutputEnd, link.Target{Stream: link.Stdout}.Append(nil))
			}
			c.Send(link.KindOutputEnd, link.Target{Stream: link.Stderr}.Append(nil))
			if err := c.Flush(); err != nil {
				panic(err)
			}
			return 0
		}
	}
}

// If a host is lost after a rank has ended and before all output of the rank has arrived, the job fails. If all output
// has arrived, the loss of the host does not matter.
func TestHostIsLostWithOutput(t *testing.T) {
	for agent, want := range map[string]result{
		"whole": {out: "part\n"},
		"cut": {125, "part\n", "gorun: the job failed with exit code 125\ngorun: first failure: host a was lost before all output of rank 0 had arrived: " +
			"the connection ended (" + self + ": exit status 0)\n"},
	} {
		got := gorun(t, nil, "-host", "a", "-rsh", self+" "+helperPrefix+"output "+agent+" "+gorunVersion(t), "true")
		require.Equal(t, want, got, agent)
	}
}
