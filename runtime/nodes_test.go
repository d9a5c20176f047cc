package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/transport"
)

// talkOnNodes exchanges messages within the nodes, and requires that messages between nodes fail.
func talkOnNodes(w *runtime.World) error {
	c := w.Comm()
	mine := [][]int{{0, 1, 4, 5}, {2, 3}}[w.NodeRank()]
	if w.LocalSize() != len(mine) || mine[w.LocalRank()] != w.Rank() {
		return fmt.Errorf("local rank %d of %d", w.LocalRank(), w.LocalSize())
	}
	if got := c.Placement(); !slices.Equal(got, []int{0, 0, 1, 1, 0, 0}) {
		return fmt.Errorf("the ranks are on the nodes %v", got)
	}
	if err := shareAmong(w, mine); err != nil {
		return err
	}
	n := len(mine)
	right, left := mine[(w.LocalRank()+1)%n], mine[(w.LocalRank()+n-1)%n]
	for _, length := range []int{1, 1 << 20} {
		out, in := make([]int, length), make([]int, length)
		out[length-1] = w.Rank()
		if _, err := runtime.SendRecv(c, out, right, 7, in, left, 7); err != nil {
			return err
		}
		if in[length-1] != left {
			return fmt.Errorf("%d from the left, want %d", in[length-1], left)
		}
	}
	other := 2
	if w.NodeRank() == 1 {
		other = 0
	}
	for name, op := range map[string]func() error{
		"send": func() error { return runtime.Send(c, []int{1}, other, 1) },
		"recv": func() error { _, err := runtime.Recv(c, make([]int, 1), other, 1); return err },
		"big":  func() error { return runtime.Send(c, make([]int, 1<<20), other, 1) },
	} {
		err := op()
		want := fmt.Sprintf("ranks %d and %d are on different nodes (h", w.Rank(), other)
		if !errors.Is(err, transport.ErrNotSupported) || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("%s: got %v, want %s", name, err, want) //nolint:errorlint // it may be nil
		}
	}
	fmt.Fprintf(os.Stdout, "rank %d of %d, node %d of %d: %s\n", w.Rank(), w.Size(), w.NodeRank(), w.Nodes(), w.Explain(other))
	return nil
}

// shareAmong makes each rank of a node write to its own part of shared memory and read the parts of
// the others.
func shareAmong(w *runtime.World, mine []int) error {
	s, err := runtime.NewSharedAmong(w.Comm(), mine, 16)
	if err != nil {
		return err
	}
	own := s.Word(w.LocalRank(), 8)
	s.Signal(own, uint64(w.Rank()+1))
	for place, rank := range mine {
		theirs := s.Word(place, 8)
		if err := s.Await(w.Comm(), theirs, 1); err != nil {
			return err
		}
		if got := theirs.Load(); got != uint64(rank+1) {
			return fmt.Errorf("part %d of %v has %d", place, mine, got)
		}
	}
	return s.Close()
}

// Without a network between the nodes, messages within a node work, and messages between nodes fail
// with an error that says why.
func TestSeveralNodesWithoutANetwork(t *testing.T) {
	r := launch(t, 6, "nodes", append(testbed.TwoNodes(t), "-net", "nosuch0")...)
	require.Zero(t, r.code, r.errors)
	hosts := []string{"h1", "h1", "h2", "h2", "h1", "h1"}
	for rank, host := range hosts {
		other := map[string]int{"h1": 2, "h2": 0}[host]
		require.Contains(t, r.out, fmt.Sprintf("rank %d of 6, node %d of 2: ", rank, int(host[1]-'1')))
		require.Contains(t, r.out, fmt.Sprintf("ranks %d and %d are on different nodes (%s, %s) and no transport connects them: "+
			`rdma: -net nosuch0: there is no interface "nosuch0"`, rank, other, host, hosts[other]))
	}
}

// dieOnNodes makes one rank of each node end before it joins, and the other ranks continue.
func dieOnNodes() {
	switch os.Getenv("GORUN_RANK") {
	case "1", "2":
		os.Exit(3)
	}
	runtime.Main(func(w *runtime.World) error {
		for _, dead := range []int{1, 2} {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // only ends a hang
			_, err := runtime.Recv(w.Comm().WithContext(ctx), make([]int, 1), dead, 0)
			cancel()
			var peer *runtime.PeerError
			if !errors.As(err, &peer) || peer.Rank != dead {
				return fmt.Errorf("rank %d: %w", dead, err)
			}
		}
		fmt.Fprintf(os.Stdout, "rank %d goes on\n", w.Rank())
		return nil
	})
}

// The loss of ranks that never joined is reported to the other ranks, on both nodes.
func TestNodesWithoutSomeOfTheirRanks(t *testing.T) {
	r := launch(t, 6, "fewer", append(testbed.TwoNodes(t), "-on-failure", "continue")...)
	require.Equal(t, 3, r.code, r.errors)
	for _, rank := range []int{0, 3, 4, 5} {
		require.Contains(t, r.out, fmt.Sprintf("rank %d goes on\n", rank), r.errors)
	}
}
