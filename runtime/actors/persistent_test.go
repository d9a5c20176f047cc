package actors_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

func init() {
	programs["persistent"] = persistentAgain
	programs["among"] = persistentAmong
	actors.RegisterType[entry]()
	actors.RegisterType[balance]()
}

// entry is a number that a rank sends to the account. A rank may send the same entry again.
type entry struct{ From, Number int }

// balance is the answer to an entry: the state of the account.
type balance struct {
	Last  map[int]int // the last number of each rank
	Total int
}

// account is an actor that counts entries, each once. It saves the count and then answers.
type account struct {
	balance
	store *actors.Store
	// kill holds, by total, functions that end the rank when the account has this total. Depending
	// on the total, the function is called before the entry is counted, after the count is saved,
	// or after the answer.
	kill map[int]func()
}

func newAccount(store *actors.Store, kill map[int]func()) *actor.Props {
	return newAccountOf("account", store, kill)
}

func newAccountOf(key string, store *actors.Store, kill map[int]func()) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &account{balance{map[int]int{}, 0}, store, kill} }, store.Persist(key))
}

func (a *account) Snapshot() ([]byte, error)  { return json.Marshal(a.balance) }
func (a *account) Recover(state []byte) error { return json.Unmarshal(state, &a.balance) }

func (a *account) Receive(c actor.Context) {
	e, ok := c.Message().(entry)
	if !ok {
		return
	}
	before := a.Total
	kill := a.kill[before]
	if kill != nil && before%3 == 0 {
		kill()
	}
	if e.Number == a.Last[e.From]+1 {
		a.Last[e.From] = e.Number
		a.Total++
		if err := a.store.Save(c); err != nil {
			// Undo the change, because the number is not saved. Otherwise, if the number were sent
			// again, the account would answer it without having saved it.
			a.Last[e.From]--
			a.Total--
			c.Respond(err.Error())
			return
		}
	}
	if kill != nil && before%3 == 1 {
		kill()
	}
	// The clone is necessary, because an answer on the same rank is not copied.
	c.Respond(balance{maps.Clone(a.Last), a.Total})
	if kill != nil {
		kill()
	}
}

// enter sends the numbers of a rank from first to last, and waits for each answer. It stops when a
// number gets no answer because of a loss, or when the account cannot save the number. It returns the
// next number to send.
func enter(s *actors.System, to *actor.PID, first, last int) (int, error) {
	for first <= last {
		v, err := s.Root.RequestFuture(to, entry{s.Rank(), first}, soon).Result()
		switch b, ok := v.(balance); {
		case ok && b.Last[s.Rank()] >= first:
			first++
		case errors.Is(err, actor.ErrDeadLetter), err == nil && !ok:
			return first, nil // the account may also have failed to save
		default:
			return first, fmt.Errorf("entry %d: %v, %w", first, v, err)
		}
	}
	return first, nil
}

const entries = 40 // numbers of each rank

// TestSpawnAmong checks that an actor continues with its state on the next rank when its rank is
// lost. The ranks may learn of the loss in any order.
func TestSpawnAmong(t *testing.T) {
	// A rank that is declared lost continues to run, and could still write to shared memory.
	overNetwork(t)
	local(t, 4, actors.Config{}, func(all []*actors.System) {
		var pids []*actor.PID
		stores := make([]*actors.Store, len(all))
		for rank, s := range all {
			stores[rank] = actors.NewStore()
			require.NoError(t, stores[rank].Open(s))
			require.ErrorIs(t, stores[rank].Open(s), actor.ErrNameExists)
		}
		for rank, s := range all {
			pid, err := s.SpawnAmong(newAccount(stores[rank], nil), "account", 1, 2, 3)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
		next, err := enter(all[0], pids[0], 1, entries)
		require.NoError(t, err)
		require.Equal(t, entries+1, next)
		for lost := 1; lost <= 2; lost++ {
			for _, rank := range []int{0, 3, 2} {
				if rank > lost || rank == 0 {
					all[rank].Lose(lost)
				}
			}
			require.Eventually(t, func() bool { return all[lost+1].Lives("account") }, soon, time.Millisecond)
			// Rank 0 may have to learn of the loss first.
			require.Eventually(t, func() bool {
				next, err = enter(all[0], pids[0], next, (lost+1)*entries)
				return err == nil && next > (lost+1)*entries
			}, soon, time.Millisecond, err)
			v, err := all[0].Root.RequestFuture(pids[0], entry{0, 1}, soon).Result()
			require.NoError(t, err)
			require.Equal(t, balance{map[int]int{0: (lost + 1) * entries}, (lost + 1) * entries}, v)
		}
		_, err = all[0].SpawnAmong(idle(), "other", 4)
		require.ErrorIs(t, err, actors.ErrNoRank)
		_, err = all[0].SpawnAmong(idle(), "other")
		require.ErrorIs(t, err, actors.ErrNoRank)
		_, err = all[0].SpawnAmong(idle(), "account", 0)
		require.ErrorIs(t, err, actor.ErrNameExists)
	})
}

// TestPersistentRestarts checks that a restarted actor continues from its snapshot, and that an
// actor that is not persistent cannot save.
func TestPersistentRestarts(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		s, store := all[0], actors.NewStore()
		require.NoError(t, store.Open(s))
		require.NoError(t, actors.NewStore().Open(all[1]))
		// The empty key is a key like others.
		pid, err := s.Spawn(newAccountOf("", store, map[int]func(){4: func() { panic("as told") }}), "account")
		require.NoError(t, err)
		_, err = enter(s, pid, 1, 4)
		require.NoError(t, err)
		// The number is saved, and then the actor fails.
		s.Root.Send(pid, entry{0, 5})
		v, err := s.Root.RequestFuture(pid, entry{0, 1}, soon).Result()
		require.NoError(t, err)
		require.Equal(t, 5, v.(balance).Total)
		saved := make(chan error, 1)
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				saved <- store.Save(c)
			}
		}), "")
		require.NoError(t, err)
		require.ErrorIs(t, next(t, saved), actors.ErrNotPersistent)
	})
}

// TestReplacedActorsCannotSave replaces an actor, because its rank and another rank regard each other
// as lost. The old actor must not be able to save any more, even at a rank that still reaches both
// actors. The new actor must have every number that the old actor has answered.
func TestReplacedActorsCannotSave(t *testing.T) {
	// A rank that is declared lost continues to run, and could still write to shared memory.
	overNetwork(t)
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		var pids []*actor.PID
		var stores []*actors.Store
		for _, s := range all {
			stores = append(stores, actors.NewStore())
			require.NoError(t, stores[s.Rank()].Open(s))
		}
		all[0].Lose(1)
		all[1].Lose(0)
		spawn := func(rank int, name string) {
			pid, err := all[rank].Spawn(newAccount(stores[rank], nil), name)
			require.NoError(t, err)
			ask(t, all[rank], pid, entry{}) // returns after the actor has started
			pids = append(pids, pid)
		}
		accepted := func(rank int, pid *actor.PID, number int, want balance) {
			v, err := all[rank].Root.RequestFuture(pid, entry{rank, number}, soon).Result()
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
		refused := func(rank int, pid *actor.PID, number int) {
			v, err := all[rank].Root.RequestFuture(pid, entry{rank, number}, soon).Result()
			require.NoError(t, err)
			require.Contains(t, v, actors.ErrOldSnapshot.Error())
		}
		spawn(0, "account")
		spawn(1, "account") // both actors keep their copies at rank 2
		refused(0, pids[0], 1)
		accepted(1, pids[1], 1, balance{map[int]int{1: 1}, 1})
		spawn(0, "again") // claims the key with a higher number than rank 1 did
		accepted(0, pids[2], 1, balance{map[int]int{0: 1, 1: 1}, 2})
		refused(1, pids[1], 2)
		refused(0, pids[0], 1)
		accepted(0, pids[2], 2, balance{map[int]int{0: 2, 1: 1}, 3})
	})
}

// TestPersistentActorsOfKilledRanks kills the rank of the actor repeatedly. No answered number may
// be lost, and no number may be counted twice.
func TestPersistentActorsOfKilledRanks(t *testing.T) {
	for program, c := range map[string]struct {
		policy string
		dead   int
		code   int
	}{
		"persistent": {"respawn", 0, 0},
		"among":      {"continue", 2, 128 + int(syscall.SIGKILL)},
	} {
		for _, transport := range []string{"shm", "rdma"} {
			t.Run(program+" "+transport, func(t *testing.T) {
				r := launchProgram(t, 4, program, "-transport", transport, "-on-failure", c.policy)
				require.Equal(t, c.code, r.Code, r.Errors)
				for rank := range 4 - c.dead {
					require.Contains(t, r.Out, "rank "+strconv.Itoa(rank)+" is done\n", r.Errors)
				}
			})
		}
	}
}

func killSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// envHostDies is the variable that makes killPlace end the whole host, through its agent.
const envHostDies = "GORUN_TEST_HOST_DIES"

// killPlace ends the rank, or its whole host.
func killPlace() {
	if os.Getenv(envHostDies) == "" {
		killSelf()
	}
	_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
	select {} // until the process is killed
}

// TestPersistentActorsOfLostHosts makes the checks of TestPersistentActorsOfKilledRanks in a job on
// several hosts. Ranks or whole hosts are lost, and the copies of the snapshots are on other hosts.
// With the policy respawn, the lost ranks are started again. With continue, only the actor is started
// again, on another host.
func TestPersistentActorsOfLostHosts(t *testing.T) {
	c := nscluster.Start(t, 4)
	for name, test := range map[string]struct {
		program string
		hosts   string
		policy  string
		env     string
		dead    int
		code    int
		errs    string
	}{
		"ranks, persistent": {"persistent", "h0:2,h1:2", "respawn", "", 0, 0, "; it is started again (3 of 3)"},
		// Rank 2, the next rank after the account's rank 1, is on the same host and is lost
		// together with rank 1.
		"hosts, persistent": {"persistent", "h0,h1:2,h2:3,h3:4", "respawn", "1", 0, 0, "host h1 is lost with ranks 1-2: "},
		"ranks, among":      {"among", "h0:2,h1,h2", "continue", "", 2, 128 + int(syscall.SIGKILL), "rank 3 (host h2, pid "},
		"hosts, among":      {"among", "h0:2,h1,h2", "continue", "1", 2, 125, "host h2 is lost with rank 3: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := launchProgram(t, 4, test.program, "-host", test.hosts, "-rsh", c.Rsh(), "-on-failure", test.policy, "-x", envHostDies+"="+test.env)
			require.Equal(t, test.code, r.Code, r.Errors)
			require.Contains(t, r.Errors, test.errs)
			for rank := range 4 - test.dead {
				require.Contains(t, r.Out, "rank "+strconv.Itoa(rank)+" is done\n", r.Errors)
			}
		})
	}
}

// persistentAmong lets the account move from rank 3 to rank 2 and then to rank 0.
func persistentAmong(w *runtime.World) error {
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	store := actors.NewStore()
	if err := store.Open(s); err != nil {
		return err
	}
	kills := map[int]map[int]func(){3: {15: killPlace}, 2: {30: killPlace}}
	pid, err := s.SpawnAmong(newAccount(store, kills[w.Rank()]), "account", 3, 2, 0)
	if err != nil {
		return err
	}
	if w.Rank() > 1 {
		select {}
	}
	for first := 1; first <= entries; {
		if first, err = enter(s, pid, first, entries); err != nil {
			return err
		}
	}
	if err := meet(w.Comm(), 0, 1); err != nil {
		return err
	}
	v, err := s.Root.RequestFuture(pid, entry{0, 1}, soon).Result()
	if b, ok := v.(balance); !ok || b.Total != 2*entries {
		return fmt.Errorf("the balance is %v, %w", v, err)
	}
	fmt.Printf("rank %d is done\n", w.Rank())
	return meet(w.Comm(), 0, 1)
}

// persistentAgain starts the account at rank 1 in each generation. It kills rank 1 twice and then rank 2.
// A survivor continues with the number after its last answered number. An account that has lost its
// state would not accept this number.
func persistentAgain(w *runtime.World) error {
	store, first := actors.NewStore(), 1
	return w.Resume(func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if err := store.Open(s); err != nil {
			return err
		}
		// The account reaches these totals only with entries of at least three ranks. So several
		// ranks have got answers.
		kills := []map[int]func(){{85: killPlace}, {125: killPlace}, nil, nil}
		if w.Rank() == 1 {
			if _, err := s.Spawn(newAccount(store, kills[w.Generation()]), "account"); err != nil {
				return err
			}
		}
		pid := s.PID(1, "account")
		// A new process does not know which numbers it has entered, and begins again with the
		// first.
		next, err := enter(s, pid, first, entries)
		if first = next; err == nil && next <= entries {
			_, err = runtime.Recv(w.Comm(), make([]byte, 1), 1, 9) // ends when rank 1 is lost
		}
		if err == nil {
			err = meet(w.Comm(), 0, 1, 2, 3)
		}
		if err != nil {
			return err
		}
		if w.Generation() == 2 && w.Rank() == 2 {
			killSelf()
		}
		v, err := s.Root.RequestFuture(pid, entry{0, 1}, soon).Result()
		if b, ok := v.(balance); !ok || b.Total != 4*entries {
			_, lost := runtime.Recv(w.Comm(), make([]byte, 1), 2, 9)
			return errors.Join(lost, fmt.Errorf("the balance is %v, %w", v, err))
		}
		if err = meet(w.Comm(), 0, 1, 2, 3); err == nil && w.Generation() == 3 {
			fmt.Printf("rank %d is done\n", w.Rank())
		}
		return err
	})
}
