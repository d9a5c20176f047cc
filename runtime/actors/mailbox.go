package actors

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// item is a message in a mailbox. in is where it came in, nil if it is of this
// rank; cost is what it takes of the credit there, or of the mailbox.
type item struct {
	message any
	in      *inlet
	cost    uint32
}

// turnMax is the number of messages after which an actor lets others run.
const turnMax = 300

// mailbox is what waits for one actor, in order. It runs the actor, one turn at a
// time, on a worker or on the serving goroutine.
type mailbox struct {
	s       *System
	inline  bool
	invoker actor.MessageInvoker
	pid     *actor.PID
	process actor.Process

	// mu guards the fields up to the blank line.
	mu        sync.Mutex
	user      []item
	system    []any
	overflow  []waiting // of this rank's actors, after user
	scheduled bool      // somebody runs it, or will
	started   bool      // it may be run

	systems  atomic.Int32 // of system
	users    atomic.Int32 // of user and batch
	bytes    atomic.Int64 // of this rank's in user and batch
	crowded  atomic.Bool  // somebody waits for room
	room     sync.Cond    // on mu
	dead     atomic.Bool
	outbox   atomic.Int64 // bytes this actor has waiting for others
	reprieve atomic.Int32 // messages it may take although its outbox is not empty

	// These belong to whoever runs it.
	batch []item
	at    int

	// These belong to them, too, but others may look.
	suspended atomic.Bool
	restarts  atomic.Int32
}

var _ actor.Mailbox = (*mailbox)(nil)

// newMailbox returns a mailbox.
func newMailbox(s *System, inline bool) *mailbox {
	m := &mailbox{s: s, inline: inline}
	m.room.L = &m.mu
	return m
}

// RegisterHandlers implements actor.Mailbox. The dispatcher is not used.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
	if self, ok := invoker.(interface{ Self() *actor.PID }); ok {
		m.pid = self.Self()
		m.process, _ = m.s.ProcessRegistry.GetLocal(m.pid.Id)
		m.s.boxes.Store(m.pid.Id, m)
	}
}

// Start implements actor.Mailbox. Its process was known before: messages may be
// here already.
func (m *mailbox) Start() {
	m.mu.Lock()
	m.started = true
	m.arouse()
}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int { return int(m.users.Load()) }

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(message any) {
	m.mu.Lock()
	m.system = append(m.system, message)
	m.systems.Add(1)
	m.arouse()
}

// arouse schedules the actor, if it is not. mu is held, and given up.
func (m *mailbox) arouse() {
	if m.scheduled || !m.started {
		m.mu.Unlock()
		return
	}
	m.scheduled = true
	m.mu.Unlock()
	m.schedule()
}

// schedule puts the mailbox in line.
func (m *mailbox) schedule() {
	if m.inline {
		m.s.errand(errand{run: m})
	} else {
		m.s.workers.push(m)
	}
}

// PostUserMessage implements actor.Mailbox. It is called by goroutines of this
// rank, actors or not.
func (m *mailbox) PostUserMessage(message any) {
	if batch, ok := actor.UnwrapEnvelopeMessage(message).(actor.MessageBatch); ok {
		for _, part := range batch.GetMessages() {
			m.PostUserMessage(part)
		}
		return
	}
	cost := weight(message)
	m.mu.Lock()
	if m.bytes.Load()+int64(cost) > int64(m.s.cfg.Mailbox) && m.bytes.Load() > 0 || m.crowded.Load() {
		m.postCrowded(item{message: message, cost: cost})
		return
	}
	m.bytes.Add(int64(cost))
	m.put(item{message: message, cost: cost})
}

// put appends an item and schedules the actor. mu is held, and given up.
func (m *mailbox) put(i item) {
	m.user = append(m.user, i)
	m.users.Add(1)
	m.arouse()
}

// accept takes messages of another rank, for which there is room always. An
// inline actor that nobody runs takes them at once. The serving goroutine calls it.
func (m *mailbox) accept(items []item, p *post) {
	m.mu.Lock()
	m.user = append(m.user, items...)
	m.users.Add(int32(len(items)))
	if !m.inline || m.scheduled || !m.started {
		m.arouse()
		return
	}
	m.scheduled = true
	m.mu.Unlock()
	p.run(m)
}

// weight is what a message of this rank takes of a mailbox.
func weight(message any) uint32 {
	n := 0
	switch m := actor.UnwrapEnvelopeMessage(message).(type) {
	case []byte:
		n = len(m)
	case string:
		n = len(m)
	case *runtime.Message:
		n = m.Status.Bytes
	}
	return uint32(min(n, 1<<30)) + parcelOverhead/2
}

// postCrowded posts to a mailbox without room: an actor's message waits in its
// outbox, anybody else waits himself. mu is held, and given up.
func (m *mailbox) postCrowded(i item) {
	if m.dead.Load() {
		m.put(i)
		return
	}
	who, serving := m.s.running()
	if who == nil && !serving {
		for m.bytes.Load()+int64(i.cost) > int64(m.s.cfg.Mailbox) && m.bytes.Load() > 0 && !m.dead.Load() {
			m.crowded.Store(true)
			m.room.Wait()
		}
		m.bytes.Add(int64(i.cost))
		m.put(i)
		return
	}
	m.mu.Unlock()
	if !m.s.waits.hold(who, m, int64(i.cost)) {
		m.s.bury(m.pid, i.message, ErrMailboxFull)
		return
	}
	m.mu.Lock()
	m.crowded.Store(true)
	m.overflow = append(m.overflow, waiting{item: i, owner: who})
	m.mu.Unlock()
	if m.bytes.Load() <= int64(m.s.cfg.Mailbox)/2 || m.dead.Load() {
		m.refill() // it was emptied meanwhile
	} else if who != nil {
		m.s.probe(who, m)
	}
}

// refill moves what waits for room into the mailbox.
func (m *mailbox) refill() {
	var moved []waiting
	m.mu.Lock()
	n := 0
	for ; n < len(m.overflow); n++ {
		w := m.overflow[n]
		if m.bytes.Load() > 0 && m.bytes.Load()+int64(w.cost) > int64(m.s.cfg.Mailbox) && !m.dead.Load() {
			break
		}
		m.bytes.Add(int64(w.cost))
		m.user = append(m.user, w.item)
		m.users.Add(1)
		moved = append(moved, w)
	}
	m.overflow = append(m.overflow[:0], m.overflow[n:]...)
	if len(m.overflow) == 0 {
		m.crowded.Store(false)
		m.room.Broadcast()
	}
	if len(moved) > 0 {
		m.arouse()
	} else {
		m.mu.Unlock()
	}
	for _, w := range moved {
		m.s.waits.release(w.owner, m, int64(w.cost))
	}
}

// held reports whether the actor may take no message because its outbox is not
// empty.
func (m *mailbox) held() bool { return m.outbox.Load() > 0 && m.reprieve.Load() <= 0 }

// wake schedules the actor after its outbox has become empty, or a reprieve.
func (m *mailbox) wake() {
	m.mu.Lock()
	m.arouse()
}

// run runs the actor until nothing is left or its turn is over; then it returns
// true and is to be put in line again.
func (m *mailbox) run() (again bool) {
	left := turnMax
	for {
		if m.turn(&left) {
			continue // after a panic
		}
		m.mu.Lock()
		if m.systems.Load() == 0 && (m.suspended.Load() || m.held() && !m.dead.Load() || m.at == len(m.batch) && len(m.user) == 0) {
			m.scheduled = false
			m.mu.Unlock()
			return false
		}
		m.mu.Unlock()
		if left <= 0 {
			return true
		}
	}
}

// turn runs the actor while it may and there is something. It returns true after
// a panic of the actor, which is its supervisor's business.
func (m *mailbox) turn(left *int) (failed bool) {
	var message any
	defer func() {
		if r := recover(); r != nil {
			failed = true
			m.invoker.EscalateFailure(r, message)
		}
	}()
	for *left > 0 {
		if m.systems.Load() > 0 {
			message = m.popSystem()
			m.invokeSystem(message)
			continue
		}
		if m.at == len(m.batch) && !m.fetch() || m.suspended.Load() || m.held() && !m.dead.Load() {
			return false
		}
		i := m.batch[m.at]
		m.batch[m.at] = item{}
		m.at++
		*left--
		m.users.Add(-1)
		m.took(i)
		message = i.message
		if m.dead.Load() {
			m.s.bury(m.pid, message, ErrStopped)
			continue
		}
		m.invoker.InvokeUserMessage(message)
	}
	return false
}

// took returns what an item took of a credit or of the mailbox.
func (m *mailbox) took(i item) {
	if i.in != nil {
		i.in.repay(i.cost)
	} else {
		bytes := m.bytes.Add(-int64(i.cost))
		if m.crowded.Load() && (bytes <= int64(m.s.cfg.Mailbox)/2 || m.dead.Load()) {
			m.refill()
		}
	}
	if m.reprieve.Load() > 0 && m.reprieve.Add(-1) == 0 {
		m.s.probeAgain(m)
	}
}

// fetch gets the next batch. It returns false if there is none.
func (m *mailbox) fetch() bool {
	m.mu.Lock()
	m.batch, m.user = m.user, m.batch[:0]
	m.at = 0
	m.mu.Unlock()
	return len(m.batch) > 0
}

// popSystem takes the first system message.
func (m *mailbox) popSystem() any {
	m.mu.Lock()
	defer m.mu.Unlock()
	message := m.system[0]
	m.system[0] = nil
	if m.system = m.system[1:]; len(m.system) == 0 {
		m.system = nil
	}
	m.systems.Add(-1)
	return message
}

// invokeSystem runs a system message.
func (m *mailbox) invokeSystem(message any) {
	switch message.(type) {
	case *actor.SuspendMailbox:
		m.suspended.Store(true)
	case *actor.ResumeMailbox:
		m.suspended.Store(false)
	default:
		if _, ok := message.(*actor.Restart); ok {
			m.restarts.Add(1)
		}
		m.invoker.InvokeSystemMessage(message)
		m.notice()
	}
}

// notice looks whether the actor has stopped. What still waits for it then are
// dead letters.
func (m *mailbox) notice() {
	if m.pid == nil || m.dead.Load() {
		return
	}
	if p, ok := m.s.ProcessRegistry.GetLocal(m.pid.Id); ok && p == m.process {
		return
	}
	m.dead.Store(true)
	m.suspended.Store(false)
	m.s.boxes.CompareAndDelete(m.pid.Id, m)
	if m.crowded.Load() {
		m.refill()
	}
}
