package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["survive"] = func() { runtime.Main(surviveRankOne) }
}

// lostRankOne returns an error unless err is the loss of rank 1.
func lostRankOne(what string, err error) error {
	var peer *runtime.PeerError
	if !errors.As(err, &peer) || peer.Rank != 1 {
		return fmt.Errorf("%s: want the loss of rank 1, got %w", what, err)
	}
	return nil
}

// surviveRankOne kills rank 1, and the other ranks continue without it.
func surviveRankOne(w *runtime.World) error {
	c := w.Comm()
	buf := make([]byte, 1<<20)
	posted := runtime.Irecv(c, make([]byte, 8), 1, 5) // posted before the end of rank 1
	if c.Rank() == 1 {
		for peer := range c.Size() {
			if err := runtime.Send(c, []int{peer}, peer, 3); err != nil { // this message is received after its sender has died
				return err
			}
			b, err := runtime.Alloc[byte](w, len(buf))
			if err != nil {
				return err
			}
			if err := runtime.SendBuffer[byte](c, b, peer, 2); err != nil { // its memory is lost with its owner
				return err
			}
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	// These sends may begin before the end of rank 1 or after it.
	large, synchronous := runtime.Isend(c, buf, 1, 8), runtime.Issend(c, buf[:1], 1, 8)
	checks := map[string]func() error{
		"receive":        func() error { return second(runtime.Recv(c, buf, 1, 4)) },
		"posted receive": func() error { return second(posted.Wait()) },
		"begun send":     func() error { return second(large.Wait()) },
		"begun Issend":   func() error { return second(synchronous.Wait()) },
		"probe":          func() error { return second(runtime.Probe(c, 1, 4)) },
		"large send":     func() error { return runtime.Send(c, buf, 1, 4) },
		"synchronous":    func() error { return runtime.Ssend(c, buf[:1], 1, 4) },
		"exchange":       func() error { return second(runtime.SendRecv(c, buf[:1], 1, 4, buf[8:9], 1, 4)) },
	}
	for name, check := range checks {
		if err := lostRankOne(name, check()); err != nil {
			return err
		}
	}
	m, err := runtime.RecvMessage(c, 1, 2)
	if err == nil {
		m.Close()
	}
	if err := lostRankOne("buffer", err); err != nil {
		return err
	}
	// A receive from AnySource fails until the loss is acknowledged. Afterwards it receives from
	// the survivors.
	for range 2 {
		if err := lostRankOne("any source", second(runtime.Recv(c, buf, runtime.AnySource, 6))); err != nil {
			return err
		}
	}
	c.Ack()
	next, last := map[int]int{0: 2, 2: 3, 3: 0}[c.Rank()], map[int]int{0: 3, 2: 0, 3: 2}[c.Rank()]
	r := runtime.Isend(c, []int{c.Rank()}, next, 7)
	got := make([]int, 1)
	s, err := runtime.Recv(c, got, runtime.AnySource, 7)
	if err != nil || s.Source != last || got[0] != last {
		return fmt.Errorf("from the living: %v from rank %d: %w", got, s.Source, err)
	}
	if err := runtime.WaitAll([]runtime.Request{r}); err != nil {
		return err
	}
	// A message that rank 1 sent before its end can be received.
	if _, err := runtime.Recv(c, got, 1, 3); err != nil || got[0] != c.Rank() {
		return fmt.Errorf("sent before the end: %v: %w", got, err)
	}
	fmt.Fprintf(os.Stdout, "rank %d survived\n", c.Rank())
	return nil
}

// Operations that name a dead rank end with its loss, and all others continue (MPICH's
// ft/recvdead.c, ft/irecvdead.c, ft/anysource.c and ft/sendalive.c).
func TestSurvivorsGoOn(t *testing.T) {
	for _, way := range []string{"auto", "rdma"} {
		t.Run(way, func(t *testing.T) {
			r := launch(t, 4, "survive", "-on-failure", "continue", "-transport", way)
			for _, rank := range []int{0, 2, 3} {
				require.Contains(t, r.out, fmt.Sprintf("rank %d survived\n", rank), r.errors)
			}
			require.Equal(t, 137, r.code, r.errors)
		})
	}
}
