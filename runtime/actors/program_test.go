package actors_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// envProgram is the variable that names the program that a process runs instead of the tests.
const envProgram = "GORUN_TEST_PROGRAM"

// programs has the programs that processes can run instead of the tests, by name.
var programs = map[string]func(w *runtime.World) error{
	"names":         namesOutliveARank,
	"before actors": func(w *runtime.World) error { return dieIn(w, nil) },
	"worker":        func(w *runtime.World) error { return dieIn(w, (*actors.System).Worker) },
	"inline":        func(w *runtime.World) error { return dieIn(w, (*actors.System).Inline) },
}

// victim is the rank that is killed.
const victim = 2

// launchProgram runs a program with a number of ranks and flags of gorun.
func launchProgram(t *testing.T, ranks int, program string, flags ...string) launch.Result {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := append([]string{launch.Gorun(t), "-np", strconv.Itoa(ranks), "-x", envProgram + "=" + program}, flags...)
	return launch.Run(t, nil, append(command, self)...)
}

// survive runs a program with four ranks. All ranks except victim must print that they have
// survived.
func survive(t *testing.T, transport, program string) {
	t.Helper()
	r := launchProgram(t, 4, program, "-transport", transport, "-on-failure", "continue")
	for rank := range 4 {
		text := fmt.Sprintf("rank %d has survived\n", rank)
		if rank == victim {
			require.NotContains(t, r.Out, text)
		} else {
			require.Contains(t, r.Out, text, r.Errors)
		}
	}
	require.Equal(t, 128+int(syscall.SIGKILL), r.Code, r.Errors)
}

// TestKilledRanks checks that names outlive a killed process that stored some of them. Requests
// to a killed rank, and watches of its actors, must end, whatever the rank was doing when it was
// killed.
func TestKilledRanks(t *testing.T) {
	for _, program := range []string{"names", "before actors", "worker", "inline"} {
		for _, transport := range []string{"shm", "rdma"} {
			t.Run(program+" "+transport, func(t *testing.T) { survive(t, transport, program) })
		}
	}
}

// meet returns after all of the ranks have called it.
func meet(c *runtime.Comm, ranks ...int) error {
	if c.Rank() != ranks[0] {
		_, err := runtime.SendRecv(c, []byte{1}, ranks[0], 1, make([]byte, 1), ranks[0], 2)
		return err
	}
	for tag := 1; tag <= 2; tag++ {
		for _, rank := range ranks[1:] {
			var err error
			if tag == 1 {
				_, err = runtime.Recv(c, make([]byte, 1), rank, tag)
			} else {
				err = runtime.Send(c, []byte{1}, rank, tag)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// until calls ok repeatedly until ok returns true. It returns an error if ok does not return true
// within the time limit soon.
func until(what string, ok func() bool) error {
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not in time", what)
		}
	}
	return nil
}

// namesOutliveARank registers names, of which victim stores some. Then rank 0 kills victim, and the
// other ranks look up the names.
func namesOutliveARank(w *runtime.World) error {
	const each = 10
	c := w.Comm()
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	pid, err := s.Spawn(idle(), "actor")
	if err != nil {
		return err
	}
	name := func(rank, i int) string { return "name" + strconv.Itoa(rank*each+i) }
	moves := 0
	for i := range each {
		if err := s.RegisterName(name(w.Rank(), i), pid); err != nil {
			return err
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(name(w.Rank(), i)))
		if h.Sum32()%4 == victim {
			moves++
		}
	}
	if moves == 0 {
		return errors.New("no name of this rank moves: the test says nothing")
	}
	if err := meet(c, 0, 1, 2, 3); err != nil {
		return err
	}
	switch w.Rank() {
	case victim:
		if err := runtime.Send(c, []int{os.Getpid()}, 0, 3); err != nil {
			return err
		}
		select {} // until this process is killed
	case 0:
		pid := make([]int, 1)
		if _, err := runtime.Recv(c, pid, victim, 3); err != nil {
			return err
		}
		if err := syscall.Kill(pid[0], syscall.SIGKILL); err != nil {
			return err
		}
	}
	for rank := range 4 {
		for i := range each {
			err := until(name(rank, i), func() bool {
				found, err := s.LookupName(name(rank, i))
				if rank == victim {
					return errors.Is(err, actors.ErrNoName)
				}
				if err != nil || !found.Equal(s.PID(rank, "actor")) {
					return false
				}
				v, err := s.Root.RequestFuture(found, i, soon).Result()
				return err == nil && v == i
			})
			if err != nil {
				return err
			}
		}
	}
	if err := meet(c, 0, 1, 3); err != nil {
		return err
	}
	if w.Rank() == 0 { // the names of dead actors are free
		if err := s.RegisterName(name(victim, 0), pid); err != nil {
			return err
		}
	}
	if err := meet(c, 0, 1, 3); err != nil {
		return err
	}
	if found, err := s.LookupName(name(victim, 0)); err != nil || !found.Equal(s.PID(0, "actor")) {
		return fmt.Errorf("a name of the dead that was taken over: %v, %w", found, err)
	}
	if err := meet(c, 0, 1, 3); err != nil {
		return err
	}
	fmt.Printf("rank %d has survived\n", w.Rank())
	return nil
}

// killAfter is the number of messages after which victim dies. At this time, some of the further
// messages are in transit, some wait for credit, and one is being sent.
const killAfter = 100

// tellAfter is the number of messages after which a victim without actors is told to die. It is
// less than the number of messages that the victim's engine stores.
const tellAfter = 40

// dieIn lets all other ranks flood an actor of victim with messages, some of them long, and watch the
// actor. The victim dies while the messages arrive. If mode is not nil, the actor has this mode, and the
// victim dies in the actor's handler. If mode is nil, the victim has no actors.
func dieIn(w *runtime.World, mode func(*actors.System) actor.PropsOption) error {
	if w.Rank() == victim && mode == nil {
		// When this message arrives, the other ranks have sent many messages to the actors of
		// this rank.
		_, err := runtime.Recv(w.Comm(), make([]byte, 1), 0, 3)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		return err
	}
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	if w.Rank() == victim {
		taken := 0
		if _, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				if taken++; taken == killAfter {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
			}
		}, mode(s)), "in"); err != nil {
			return err
		}
		select {}
	}
	dead := letters(s)
	terminated := make(chan *actor.Terminated, 10)
	if _, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Watch(s.PID(victim, "in"))
		case *actor.Terminated:
			terminated <- m
		case int:
			c.Respond(m)
		}
	}), "watcher"); err != nil {
		return err
	}
	unanswered := s.Root.RequestFuture(s.PID(victim, "in"), 1, soon)
	const messages = 5000 // more than the credit and the outbox
	text := []string{strings.Repeat("s", 1000), strings.Repeat("l", 300_000)}
	for i := range messages {
		if i == tellAfter && w.Rank() == 0 && mode == nil {
			if err := runtime.Send(w.Comm(), []byte{1}, victim, 3); err != nil {
				return err
			}
		}
		long := 0
		if i%20 == 19 && i < 200 {
			long = 1
		}
		s.Root.Send(s.PID(victim, "in"), text[long])
	}
	select {
	case m := <-terminated:
		if m.Why != actor.TerminatedReason_AddressTerminated || !m.Who.Equal(s.PID(victim, "in")) {
			return fmt.Errorf("told of %v", m)
		}
	case <-time.After(soon):
		return errors.New("not told of the loss")
	}
	var lost *runtime.PeerError
	if d := <-dead; !errors.As(d, &lost) || lost.Rank != victim {
		return d
	}
	if err := unanswered.Wait(); !errors.Is(err, actor.ErrDeadLetter) {
		return fmt.Errorf("a request under way to the dead: %w", err)
	}
	if _, err := s.Root.RequestFuture(s.PID(victim, "in"), "late", soon).Result(); !errors.Is(err, actor.ErrDeadLetter) {
		return fmt.Errorf("a request to the dead: %w", err)
	}
	// The other ranks continue, and are notified only once.
	for _, rank := range []int{0, 1, 3} {
		if v, err := s.Root.RequestFuture(s.PID(rank, "watcher"), 7, soon).Result(); err != nil || v != 7 {
			return fmt.Errorf("asked rank %d: %v, %w", rank, v, err)
		}
	}
	if err := meet(w.Comm(), 0, 1, 3); err != nil {
		return err
	}
	if len(terminated) > 0 {
		return errors.New("told twice")
	}
	fmt.Printf("rank %d has survived\n", w.Rank())
	return nil
}
