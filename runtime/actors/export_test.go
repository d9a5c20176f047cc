package actors

import (
	"errors"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// NewOver makes a System over a World of the test. It returns a function that closes the System
// after the engine has ended.
func NewOver(w port.World, cfg Config) (*System, func()) {
	s := newSystem(w, cfg)
	if err := s.spawnNames(); err != nil {
		panic(err)
	}
	return s, s.close
}

// Lose reports the loss of a rank to the engine.
func (s *System) Lose(rank int) { s.engine.MarkDown(rank, errors.New("killed by the test")) }

// ParseAddress calls parseAddress.
func ParseAddress(a string) (rank int, epoch uint32, err error) { return parseAddress(a) }

// Probes returns how many probes for cycles of waiting actors this rank has started. The call counts as a probe, too.
func (s *System) Probes() uint32 { return s.waits.Begin(deadlock.Origin{}).Number - 1 }

// Questions returns the number of open requests of this rank.
func (s *System) Questions() int {
	s.openRequests.mu.Lock()
	defer s.openRequests.mu.Unlock()
	return len(s.openRequests.all)
}

// Travels returns how a message is encoded: the name and the layout of its type, and its bytes.
func Travels(m any) (name, layout string, body []byte, err error) {
	c := codec.Of(m)
	body, err = c.Append(nil, m)
	return c.Name, c.Layout, body, err
}

// NameRequest returns a request to the names actor of a rank (see NamesID).
func NameRequest(what int, name, address, id string, keeper int) any {
	return nameRequest{what, name, address, id, keeper}
}

// NameAnswer returns an answer to a NameRequest.
func NameAnswer(name, address, id string, refused bool) any {
	return nameAnswer{name, address, id, refused}
}

// StoreID is the ID of the actor of each rank that stores copies of snapshots.
const StoreID = storeID

// Holding returns an answer to the claim of a key. It says that the rank has no snapshot, and that claimed is the
// highest number of a claim of the key.
func Holding(claimed uint64) any { return holding{Claimed: claimed} }

// NamesID is the ID of the names actor of each rank, which stores the names that its rank keeps.
const NamesID = namesID

// NameFind, NameRemove and NameEnd are values of the field What of a request. NameFind looks up a name, NameRemove
// removes it, and NameEnd is the first invalid value.
const (
	NameFind   = nameFind
	NameRemove = nameRemove
	NameEnd    = nameDisown + 1
)

// Keeper returns which of size ranks keeps a name.
func Keeper(name string, size int) int { return keeper(name, size, func(int) bool { return false }) }

// Letters returns how many dead letters this rank has counted, and how many of them were
// malformed messages.
func (s *System) Letters() (deadLetters, malformed uint64) {
	return s.deadLetters.Load(), s.malformed.Load()
}

// RunWaiting runs a turn of an idle actor that has handled a message before. The mailbox has space, but a message of
// a sender waits for space. This state occurs if the sender begins to wait between the actor's last check for waiting
// senders and the end of the turn.
func (s *System) RunWaiting(id string, message any) {
	box, _ := s.boxes.Load(id)
	m := box.(*mailbox)
	m.mu.Lock()
	m.scheduled = true
	q := m.markFull()
	q.waiting = append(q.waiting, waiting{item: item{message: message, cost: weight(message)}})
	m.mu.Unlock()
	m.run()
}

// Rests reports whether an actor of this rank neither runs nor is about to run.
func (s *System) Rests(id string) bool {
	box, _ := s.boxes.Load(id)
	m := box.(*mailbox)
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.scheduled
}

// Lives reports whether an actor of this rank exists or has not ended completely.
func (s *System) Lives(id string) bool {
	_, ok := s.boxes.Load(id)
	return ok
}

// Lines returns the number of entries of this rank for actors of another rank. The actors of this package do not
// count. An entry remains until its stream is closed.
func (s *System) Lines(rank int) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.remotes {
		if key.rank == rank && key.id != namesID && key.id != namelessID {
			n++
		}
	}
	return n
}

// Line reports whether this rank has an entry for an actor of another rank, and whether a PID of the actor refers to it.
func (s *System) Line(rank int, id string) (known, referenced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.remotes[remoteKey{rank, s.epoch, id}]
	return l != nil, l != nil && l.remote.Value() != nil
}

// Waiting reports whether a goroutine waits for credit. Waiting actors do not count.
func (s *System) Waiting() bool {
	return slices.ContainsFunc(s.engine.Blocked(), func(b engine.Blocked) bool { return strings.HasPrefix(b.Op, "tell ") })
}

// Idle reports whether no actor of this rank is about to run.
func (s *System) Idle() bool { return s.idle() }

// Futures returns how many futures of this rank, and answer Processes of its routers, are in the table of actors.
func (s *System) Futures() (n int) {
	for _, part := range s.ProcessRegistry.LocalPIDs.LocalPIDs {
		part.IterCb(func(id string, _ any) {
			if strings.HasPrefix(id, futurePrefix) {
				n++
			}
		})
	}
	return n
}

// Holds reports whether the Store has a snapshot of a key.
func (st *Store) Holds(key string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.held[key].Newest.Claim > 0
}

// Claim makes a claim of a key at the rank of the Store.
func (st *Store) Claim(key string, number uint64) { st.claimed(claim{key, number}) }

// Unreleased reports whether the memory of a message was not released yet. The serving goroutine
// examines the message, because it releases messages.
func (s *System) Unreleased(m *runtime.Message) bool {
	c := make(chan bool, 1)
	s.deferTask(deferredTask{do: func() {
		_, alive := s.world.Bytes(m)
		c <- alive
	}})
	return <-c
}

// Pushes returns the number of long messages that this rank is sending.
func (s *System) Pushes() int {
	t := &s.inbound.transfers
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pushes)
}

// Unreceived returns the number of messages that have arrived and that no receive has matched.
func (s *System) Unreceived() int { return len(s.engine.Unreceived()) }

// FrameMax returns the length of the longest message to a rank that is sent in one frame.
func (s *System) FrameMax(rank int) int { return s.engine.Eager(rank) }

// Watches returns the number of watches of this rank's actors, routers and futures on actors of other ranks.
func (s *System) Watches() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, there := range s.watches {
		for _, all := range there {
			n += len(all)
		}
	}
	return n
}

// RegisterMemory makes T, a pointer, a further Go type of messages whose memory is handed over.
func RegisterMemory[T any]() { codec.RegisterMessage[T]() }
