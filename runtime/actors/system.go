package actors

import (
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/internal/registry"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// Config tunes the actors of a rank. The zero value is the default.
type Config struct {
	// Mailbox bounds the bytes of messages from an actor's own rank that wait for the actor. A message
	// counts 64 bytes; a []byte, a string and a *runtime.Message also count their length. The size of a
	// message of another type does not count. The default is 8 MiB.
	Mailbox int
	// Outbox bounds the bytes of messages of one actor that wait for credit or for space in
	// mailboxes. They count as for Mailbox; a message to another rank also counts its size if its
	// type is plain data. The default is 8 MiB.
	Outbox int
	// Patience is the time for which messages wait for an actor that does not exist yet.
	// The default is 5 s.
	Patience time.Duration
	// Logger gets the log of protoactor, dead letters, and failures of actors. At most ten dead
	// letters and failures are logged each second. Dead letters to actors and ranks that have ended
	// are not counted in this limit; they have the level Info. The default Logger writes warnings and
	// errors to standard error.
	Logger *slog.Logger
}

// Defaults of Config.
const (
	defaultMailbox  = 8 << 20
	defaultOutbox   = 8 << 20
	defaultPatience = 5 * time.Second
)

// withDefaults replaces zero and negative values by the defaults.
func (c Config) withDefaults() Config {
	if c.Mailbox <= 0 {
		c.Mailbox = defaultMailbox
	}
	if c.Outbox <= 0 {
		c.Outbox = defaultOutbox
	}
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return c
}

// System is the actor system of one rank. It is a protoactor ActorSystem: Root sends messages and requests
// and spawns actors; EventStream publishes dead letters. The actors of the rank's connections live in the
// same System, below "$rdma". Any goroutine may call any method.
type System struct {
	*actor.ActorSystem

	cfg    Config
	shared bool // the ActorSystem is shared with the actors of connections, which outlive this System
	world  port.World
	engine *engine.Engine
	epoch  uint32 // the generation of the job, the same at all ranks

	// addresses holds the addresses of all ranks, by rank.
	addresses []string
	inbound   inbound
	workers   *workers
	servers   servers

	// boxes holds the mailboxes of live actors, by id.
	boxes sync.Map // string -> *mailbox

	// mu guards the fields up to the next blank line.
	mu      sync.Mutex
	remotes map[remoteKey]*remoteEntry
	// down is the set of lost ranks.
	down map[int]bool
	// roaming holds the actors of SpawnAmong.
	roaming []*roaming
	// watches holds the watches of this rank's actors on actors of other ranks. The keys are the
	// rank of the watched actor, the id of the watcher and the id of the watched actor.
	watches map[int]map[string]map[string]watch
	// watched holds the watches of other ranks' actors on actors of this rank, by rank of the
	// watcher.
	watched map[int]map[watchKey]watch

	openRequests openRequests

	// deadLetters counts the dead letters that deadLetter has published. malformed counts those whose reason is
	// codec.ErrMalformed.
	deadLetters, malformed atomic.Uint64
	// letters holds, as keys, each *runtime.Message that deadLetter is publishing.
	letters sync.Map
	// endReleases ends the subscription of releaseLetters.
	endReleases func()

	// local holds the tasks of this rank's goroutines for the serving goroutine.
	local deferredTasks

	// ended is nil until the engine has ended, and then points to the engine's error. From then on, a goroutine
	// that runs no actor does not wait for space in a mailbox, because the actor of the mailbox may itself wait
	// for credit. The message becomes a dead letter.
	ended atomic.Pointer[error]
	// closed is true when the System has ended, which is after the end of the engine.
	closed atomic.Bool

	waits         waits
	stallDetector stallDetector
	pending       pendingActors
	reports       reports
}

// Of returns the System of a rank. The first call makes it.
func Of(w *runtime.World) (*System, error) { return OfConfig(w, Config{}) }

// OfConfig returns the System of a rank. The first call makes it with the configuration cfg; later calls
// ignore cfg.
func OfConfig(w *runtime.World, cfg Config) (*System, error) {
	p := port.Of(w)
	kept, err := p.Keep(func() (any, func(), error) {
		s := newSystem(p, cfg)
		return s, s.close, s.spawnNames()
	})
	if err != nil {
		return nil, err
	}
	return kept.(*System), nil
}

// newSystem makes the System of a rank.
func newSystem(w port.World, cfg Config) *System {
	s := &System{
		cfg: cfg.withDefaults(), world: w, engine: w.Engine(), epoch: uint32(w.Epoch()),
		remotes: make(map[remoteKey]*remoteEntry),
		down:    make(map[int]bool),
		watches: make(map[int]map[string]map[string]watch),
		watched: make(map[int]map[watchKey]watch),
	}
	s.pending.byName = make(map[string]*pendingActor)
	s.local.wake = make(chan struct{}, 1)
	// The actors of connections use the same protoactor system.
	if shared, ok := w.ActorSystem(s.cfg.Logger.Handler()).(*actor.ActorSystem); ok {
		s.ActorSystem, s.shared = shared, true
	} else {
		s.ActorSystem = registry.NewSystem(s.cfg.Logger)
	}
	for rank := range w.Size() {
		s.addresses = append(s.addresses, port.Address(rank, s.epoch))
	}
	if !s.shared {
		s.ProcessRegistry.Address = s.addresses[w.Rank()]
	}
	s.ProcessRegistry.RegisterAddressResolver(s.resolve)
	s.Root.WithSpawnMiddleware(s.spawning)
	s.endReleases = s.releaseLetters()
	s.workers = newWorkers(s)
	s.inbound.init(s)
	s.engine.SetActorReceiver(&s.inbound)
	s.servers.start(s)
	w.TellIdle(s.idle)
	return s
}

// close ends the goroutines of the System and all waits. It is called after the end of the engine.
func (s *System) close() {
	s.servers.close()
	s.stallDetector.close()
	s.endWaits(s.workers.close())
	s.endReleases()
	if !s.shared {
		s.Shutdown()
	}
}

// Rank returns the number of this rank.
func (s *System) Rank() int { return s.world.Rank() }

// Size returns the number of ranks.
func (s *System) Size() int { return s.world.Size() }

// PID returns a PID of an actor of any rank. The actor need not exist yet.
func (s *System) PID(rank int, name string) *actor.PID {
	switch {
	case rank < 0 || rank >= len(s.addresses):
		return actor.NewPID(port.Address(rank, 0), name) // a message to this PID becomes a dead letter (ErrNoRank)
	case rank == s.Rank():
		return s.own(name)
	}
	return actor.NewPID(s.addresses[rank], name)
}

// RankOf returns the rank of an actor. It returns false if the address of the PID names no rank of
// this World. RankOf ignores the generation in the address.
func (s *System) RankOf(pid *actor.PID) (int, bool) {
	if pid == nil {
		return 0, false
	}
	rank, _, err := parseAddress(pid.Address)
	return rank, err == nil && rank < s.Size()
}

// Spawn starts an actor with a name. If name is "", the actor gets a generated name. If an actor of
// this rank already has the name, the error is actor.ErrNameExists, and the returned PID is the PID
// of that actor.
func (s *System) Spawn(props *actor.Props, name string) (*actor.PID, error) {
	if name == "" {
		name = s.ProcessRegistry.NextId()
	}
	pid, err := s.Root.SpawnNamed(props, name)
	if err != nil {
		return pid, fmt.Errorf("actor %q: %w", name, err)
	}
	return pid, nil
}

// Inline returns the option that makes an actor run on the serving goroutine, see the package comment.
func (s *System) Inline() actor.PropsOption { return s.mailboxes(true) }

// Worker returns the option that makes an actor run on the workers, which is the default.
func (s *System) Worker() actor.PropsOption { return s.mailboxes(false) }

// mailboxes returns the option that gives an actor a mailbox of this package.
func (s *System) mailboxes(inline bool) actor.PropsOption {
	return actor.WithMailbox(func() actor.Mailbox { return newMailbox(s, inline) })
}

// spawning is the spawn middleware. If the props of an actor contain neither a mailbox nor a
// dispatcher, spawning gives the actor a mailbox of this package. The actor's props contain spawning, so
// that the children of the actor get this spawn middleware, too.
func (s *System) spawning(next actor.SpawnFunc) actor.SpawnFunc {
	return func(system *actor.ActorSystem, id string, props *actor.Props, parent actor.SpawnerContext) (*actor.PID, error) {
		mine := props.Clone(actor.WithSpawnMiddleware(s.spawning))
		if !chosen(props, "mailboxProducer") && !chosen(props, "dispatcher") {
			mine.Configure(s.Worker())
		}
		spawn := next
		if !chosen(props, "spawner") {
			// The function next that Root passes ignores the guardian in props.
			spawn = actor.DefaultSpawner
		}
		pid, err := spawn(system, id, mine, parent)
		if err == nil {
			s.appeared(id)
		}
		return pid, err
	}
}

// chosen reports whether a field of props was set. It uses reflection, because Props has no accessors.
func chosen(props *actor.Props, field string) bool {
	v := reflect.ValueOf(props).Elem().FieldByName(field)
	return v.IsValid() && !v.IsNil()
}

// String describes the System by its address.
func (s *System) String() string { return fmt.Sprintf("actors of %s", s.Address()) }

// deferredTask is a task that a goroutine of this rank passes to the serving goroutine. The task is to run
// the inline mailbox in the field run or, if this field is nil, to call the function in the field do.
type deferredTask struct {
	run *mailbox
	do  func()
}

// deferredTasks is the queue of tasks for the serving goroutine.
type deferredTasks struct {
	mu    sync.Mutex
	queue []deferredTask
	taken []deferredTask // owned by the serving goroutine
	some  atomic.Bool    // queue is not empty
	// wake wakes the serving goroutine after the end of the engine. It has room for one value.
	wake chan struct{}
}

// deferTask queues a task for the serving goroutine, and wakes that goroutine if necessary.
func (s *System) deferTask(e deferredTask) {
	l := &s.local
	l.mu.Lock()
	l.queue = append(l.queue, e)
	l.mu.Unlock()
	if l.some.Swap(true) || engine.Goroutine() == s.inbound.goroutine.Load() {
		return
	}
	s.engine.Rouse()
	// If ended is not set yet, no wake-up is needed: serveTasks reads l.some after ended was set.
	if s.ended.Load() != nil {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// take removes and returns the queued tasks. The slice is valid until the next call.
func (l *deferredTasks) take() []deferredTask {
	l.mu.Lock()
	l.some.Store(false)
	clear(l.taken)
	l.taken, l.queue = l.queue, l.taken[:0]
	l.mu.Unlock()
	return l.taken
}
