package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gorun-hpc/gorun/runtime"
)

// failurePrograms behave like the programs in the directories api/ and stress/ of
// ICLDisco/ulfm-testing, and have the names of the files of those programs.
var failurePrograms = []failureProgram{
	{"err_returns", 4, 1, errReturns},
	{"err_handler", 4, 1, errHandler},
	{"err_any", 5, 2, errAny},
	{"err_insulation", 6, 1, errInsulation},
	{"getack", 5, 2, getAck},
	{"revoke", 5, 1, revoke},
	{"shrink", 5, 2, shrink},
	{"revshrink", 5, 1, revShrink},
	{"revshrinkkill", 6, 4, revShrinkKill},
	{"buddycr", 4, 1, buddyCR},
	{"isend-err", 5, 2, isendErr},
	{"pingpairs", 8, 2, pingPairs},
	{"sleeptest", 4, 0, sleepTest},
}

func init() {
	for i := range failurePrograms {
		p := &failurePrograms[i]
		programs["mortal "+p.name] = func() {
			runtime.Main(func(w *runtime.World) error { return p.run(mortal{w, killed}) })
		}
	}
}

// containsLine reports whether text contains a line that begins with line.
func containsLine(text, line string) bool { return strings.Contains("\n"+text, "\n"+line) }

// In each program of failurePrograms, the survivors get the expected errors and continue as
// expected. The programs follow those of ULFM (api/err_returns.c, api/err_handler.c, api/err_any.c,
// api/err_insulation.c, api/getack.c, api/revoke.c, api/shrink.c, api/revshrink.c,
// api/revshrinkkill.c, api/buddycr.c, stress/isend-err.c, stress/pingpairs.c and
// stress/sleeptest.c).
func TestFailures(t *testing.T) {
	soak := os.Getenv("GORUN_SOAK") != ""
	for i := range failurePrograms {
		p := &failurePrograms[i]
		t.Run(p.name+"/local", p.runHere)
		// Each program runs over shared memory or over the network; with GORUN_SOAK=1 over both.
		for k, way := range []string{"auto", "rdma"} {
			if soak || i%2 == k {
				t.Run(p.name+"/"+way, func(t *testing.T) { p.runThere(t, "-transport", way) })
			}
		}
	}
}

// errReturns: each time a collective operation with a dead member is called, it ends at all other
// members with the loss of the dead member. A collective operation of the survivors succeeds.
func errReturns(m mortal) error {
	c, victim := m.Comm(), m.Size()-1
	living, err := c.Split(map[bool]int{true: 1}[m.Rank() == victim], 0)
	if err != nil {
		return err
	}
	if _, err := c.Agree(0); err != nil { // without the Agree, the loss might end the Split of slower ranks
		return err
	}
	if m.Rank() == victim {
		return m.die()
	}
	for range 2 {
		if err := isLoss(meet(c), victim); err != nil {
			return err
		}
		if err := meet(living); err != nil {
			return err
		}
	}
	return nil
}

// errHandler: the error names the rank, the operation and the cause, and no other operation fails.
func errHandler(m mortal) error {
	c := m.Comm()
	if m.Rank() == 1 {
		return m.die()
	}
	_, err := runtime.Recv(c, make([]byte, 1), 1, 0)
	var peer *runtime.PeerError
	if !errors.As(err, &peer) || peer.Rank != 1 || peer.Op == "" || peer.Cause == nil {
		return fmt.Errorf("want a PeerError with rank 1, an operation and a cause, got %w", err)
	}
	if c.Err() != nil || c.IsRevoked() {
		return fmt.Errorf("the loss of rank 1 has ended the communicator: %w", c.Err())
	}
	if lost, _ := c.Failed(); lost.Rank(1) < 0 {
		return fmt.Errorf("Failed does not return rank 1: %v", lost.Ranks())
	}
	next, last := map[int]int{0: 2, 2: 3, 3: 0}[c.Rank()], map[int]int{0: 3, 2: 0, 3: 2}[c.Rank()]
	got := make([]int, 1)
	_, err = runtime.SendRecv(c, []int{m.Rank()}, next, 1, got, last, 1)
	if err == nil && got[0] != last {
		err = fmt.Errorf("received %d, want %d", got[0], last)
	}
	return err
}

// errAny: rank 0 receives from any source until it has the last messages of ranks 1 and 2, and has acknowledged both
// deaths. After a death, receives and probes from any source end with a PeerError until rank 0 has acknowledged it.
func errAny(m mortal) error {
	c := m.Comm()
	if m.Rank() > 0 {
		for range m.Rank() {
			if err := runtime.Send(c, []int{0}, 0, 1); err != nil {
				return err
			}
		}
		if m.Rank() >= 3 {
			return m.die()
		}
		return runtime.Send(c, []int{1}, 0, 1)
	}
	for ended := 0; ended < 2 || c.Ack().Size() < 2; {
		last := make([]int, 1)
		_, err := runtime.Recv(c, last, runtime.AnySource, 1)
		if err == nil {
			ended += last[0]
			continue
		}
		if isLoss(err, -1) != nil {
			return err
		}
		if _, err := runtime.Probe(c, runtime.AnySource, 2); isLoss(err, -1) != nil {
			return fmt.Errorf("before Ack: %w", err)
		}
		c.Ack()
	}
	if _, found, err := runtime.Iprobe(c, runtime.AnySource, 2); found || err != nil {
		return fmt.Errorf("after Ack: %v %w", found, err)
	}
	return nil
}

// errInsulation: a death, and the reactions of the other members to it, do not affect a
// communicator without the dead rank.
func errInsulation(m mortal) error {
	half, err := m.Comm().Split(m.Rank()*2/m.Size(), 0)
	if err != nil {
		return err
	}
	if _, err := m.Comm().Agree(0); err != nil {
		return err
	}
	if m.Rank() == m.Size()-1 {
		return m.die()
	}
	if m.Rank() < m.Size()/2 {
		// Receives from any source continue to wait, whatever happens in the other half of the ranks.
		var errs []error
		if half.Rank() > 0 {
			errs = append(errs, runtime.Send(half, []int{half.Rank()}, 0, 1))
		}
		for range half.Size() - 1 {
			if half.Rank() == 0 {
				errs = append(errs, second(runtime.Recv(half, make([]int, 1), runtime.AnySource, 1)))
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if lost := half.Ack(); lost.Size() != 0 || half.IsRevoked() {
			return fmt.Errorf("a death outside of the communicator has an effect: %v, %w", lost.Ranks(), half.Err())
		}
		_, err := half.Agree(1)
		return err
	}
	if err := isLoss(meet(half), m.Size()-1); err != nil {
		return err
	}
	half.Revoke(nil)
	_, err = half.Shrink()
	return err
}

// getAck: Ack returns the deaths that this rank has detected, and Agree fails until all members
// have acknowledged them.
func getAck(m mortal) error {
	c, n := m.Comm(), m.Size()
	if m.Rank() == n-1 {
		return m.die()
	}
	_, err := runtime.Recv(c, make([]byte, 1), n-1, 1)
	if err := isLoss(err, n-1); err != nil {
		return err
	}
	if m.Rank() != 0 { // rank 0 does not acknowledge
		if lost := c.Ack(); lost.Rank(n-1) < 0 {
			return fmt.Errorf("acknowledged %v", lost.Ranks())
		}
	}
	flags, err := c.Agree(^uint64(1 << m.Rank()))
	if isLoss(err, n-1) != nil || flags != ^uint64(1<<(n-1)-1) {
		return fmt.Errorf("before all have acknowledged: %x, %w", flags, err)
	}
	c.Ack()
	if _, err := c.Agree(0); err != nil {
		return fmt.Errorf("after all have acknowledged: %w", err)
	}
	if m.Rank() == n-2 {
		return m.die()
	}
	if err := isLoss(meet(c), -1); err != nil {
		return err
	}
	_, err = c.Agree(0)
	return isLoss(err, n-2)
}

// revoke: the notice of a Revoke reaches all members, although the rank that revokes dies
// immediately.
func revoke(m mortal) error {
	c, err := m.Comm().Dup()
	if err == nil {
		_, err = c.Agree(0) // ends after all members have created c
	}
	if err != nil {
		return err
	}
	if m.Rank() == 1 {
		c.Revoke(nil)
		return m.die()
	}
	// No rank sends. Without the notice, only the receive of rank 4 would end, because of the loss
	// of rank 1.
	_, err = runtime.Recv(c, make([]byte, 1), (m.Rank()+2)%m.Size(), 1)
	if (m.Rank()+2)%m.Size() == 1 && isLoss(err, 1) == nil {
		_, err = runtime.Recv(c, make([]byte, 1), 0, 1)
	}
	if !errors.Is(err, runtime.ErrCommBroken) || !c.IsRevoked() {
		return fmt.Errorf("want a revoked communicator, got %w", err)
	}
	if err := meet(c); !errors.Is(err, runtime.ErrCommBroken) {
		return fmt.Errorf("after the revocation: %w", err)
	}
	return nil
}

// shrink: Shrink returns the same members in the same order at all survivors, even if a member dies
// before or during Shrink. The new communicator has its own message space.
func shrink(m mortal) error {
	c := m.Comm()
	if m.Rank() == 1 {
		return m.die()
	}
	s, err := c.Shrink()
	if err != nil {
		return err
	}
	if m.Rank() == 3 {
		return m.die()
	}
	for s.Group().Rank(3) >= 0 {
		if err := isLoss(meet(s), 3); err != nil {
			return err
		}
		if s, err = s.Shrink(); err != nil {
			return err
		}
	}
	for i, want := range []int{0, 2, 4} {
		if s.Size() != 3 || s.WorldRank(i) != want || (want == m.Rank()) != (s.Rank() == i) {
			return fmt.Errorf("shrunk to %v, rank %d", s.Group().Ranks(), s.Rank())
		}
	}
	return meet(s)
}

// revShrink: after a loss one rank revokes the communicator. Then all survivors call Shrink, whatever each of them
// was doing before.
func revShrink(m mortal) error {
	c, err := m.Comm().Dup()
	if err == nil {
		_, err = c.Agree(0)
	}
	if err != nil {
		return err
	}
	if m.Rank() == 1 {
		return m.die()
	}
	// Only rank 2 waits for rank 1. The others wait for each other until the Revoke of rank 2 ends
	// their receives.
	_, err = runtime.Recv(c, make([]byte, 1), (m.Rank()+m.Size()-1)%m.Size(), 1)
	if m.Rank() == 2 {
		c.Revoke(err)
	}
	if err == nil || m.Rank() != 2 && !errors.Is(err, runtime.ErrCommBroken) {
		return fmt.Errorf("after Revoke: %w", err)
	}
	s, err := c.Shrink()
	if err == nil {
		err = c.Close()
	}
	if err == nil {
		err = meet(s)
	}
	if err == nil && s.Size() != m.Size()-1 {
		err = fmt.Errorf("%d live", s.Size())
	}
	return err
}
