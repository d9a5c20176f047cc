package actors

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/runtime"
)

// turnMax is the number of messages after which an actor lets others run.
const turnMax = 300

// mailbox is what waits for one actor, in order. It runs the actor, one turn at a
// time, on a worker or on the serving goroutine.
//
// What the senders write, what the goroutine that runs the actor writes, and what is only
// read lie in cache lines of their own: a line that two processors write in turn costs more
// than all the rest of a message.
type mailbox struct {
	s       *System
	invoker actor.MessageInvoker
	pid     *actor.PID
	process actor.Process
	inline  bool
	serial  uint32 // of an inline actor, else 0

	// These are read for every message and change rarely.
	dead      atomic.Bool
	suspended atomic.Bool   // written by whoever runs it
	systems   atomic.Int32  // of system
	reprieve  atomic.Int32  // messages it may take although its outbox is not empty
	outbox    atomic.Int64  // bytes this actor has waiting for others
	fullAt    atomic.Uint64 // posted when a sender began to wait for space; 0: none waits
	restarts  atomic.Int32
	// mu guards system and overflow.
	system   []any
	overflow *overflow

	// mu guards the fields up to the blank line.
	mu        sync.Mutex
	scheduled bool // it runs, or will
	started   bool // it may be run
	user      queue
	posted    uint64                     // bytes of this rank ever put into user
	limit     uint64                     // posted may grow up to there, as far as is known
	ref       atomic.Pointer[mailboxRef] // of streams that lead here, when the first does
	_         [8]byte

	// These belong to whoever runs it. Others may look at taken and left, which are
	// published: bytes of this rank, and messages of all, that ever left.
	taken         uint64
	left          uint64
	batch         []item
	at            int32
	lent          bool // batch belongs to the caller of run
	pendingCredit pendingCredit
}

var _ actor.Mailbox = (*mailbox)(nil)

// newMailbox returns a mailbox.
func newMailbox(s *System, inline bool) *mailbox {
	m := &mailbox{s: s, inline: inline, limit: uint64(s.cfg.Mailbox)}
	if inline {
		m.serial = s.enroll()
	}
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
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int(m.user.pushed - atomic.LoadUint64(&m.left))
}

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
		m.s.deferTask(deferredTask{run: m})
	} else {
		m.s.workers.push(m)
	}
}

// wake schedules the actor after its outbox has become empty, or a reprieve.
func (m *mailbox) wake() {
	m.mu.Lock()
	m.arouse()
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
	i := item{message: message, cost: weight(message)}
	m.mu.Lock()
	if m.fullAt.Load() != 0 || !m.admits(i.cost) {
		m.postFull(i)
		return
	}
	m.put(i)
	m.arouse()
}

// put appends an item of this rank. mu is held.
func (m *mailbox) put(i item) {
	m.posted += uint64(i.cost)
	m.user.push(i)
}

// postArrived appends a message of another rank, for which there is always room.
func (m *mailbox) postArrived(i item) {
	m.mu.Lock()
	m.user.push(i)
	m.arouse()
}

// accept takes messages of another rank, for which there is room always. They
// stay the caller's. An inline actor that does not run takes them at once, one on a
// worker is the serving goroutine's own if it has none yet and can leave. The serving
// goroutine calls it.
func (m *mailbox) accept(items []item, p *inbound) {
	m.mu.Lock()
	if !m.inline || m.scheduled || !m.started {
		m.user.pushAll(items)
		if m.scheduled || !m.started || p.next != nil || !p.s.servers.relieved() {
			m.arouse()
			return
		}
		m.scheduled = true
		m.mu.Unlock()
		p.next = m
		return
	}
	m.scheduled = true
	if int(m.at) < len(m.batch) || !m.user.empty() {
		m.user.pushAll(items)
		m.mu.Unlock()
		p.run(m)
		return
	}
	m.user.pushed += uint64(len(items))
	m.user.giveBack(m.batch)
	m.mu.Unlock()
	m.batch, m.at, m.lent = items, 0, true
	p.run(m)
	if m.lent {
		m.batch, m.at, m.lent = append([]item(nil), m.batch[m.at:]...), 0, false
	}
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
		if m != nil {
			n = m.Status.Bytes
		}
	}
	return uint32(min(n, 1<<30)) + actorOverhead/2
}

// held reports whether the actor may take no message because its outbox is not
// empty.
func (m *mailbox) held() bool { return m.outbox.Load() > 0 && m.reprieve.Load() <= 0 }

// run runs the actor until nothing is left or its turn is over; then it returns
// true and is to be put in line again.
func (m *mailbox) run() (again bool) {
	left := turnMax
	for {
		failed := m.turn(&left)
		m.pendingCredit.settle()
		if failed {
			continue
		}
		m.mu.Lock()
		if int(m.at) == len(m.batch) {
			m.fetch()
		}
		moved := m.refilled()
		idle := m.systems.Load() == 0 && (int(m.at) == len(m.batch) || m.suspended.Load() || m.held() && !m.dead.Load())
		m.scheduled = !idle
		m.mu.Unlock()
		m.moved(moved)
		if idle || left <= 0 {
			return !idle
		}
	}
}

// fetch gets the next messages. mu is held.
func (m *mailbox) fetch() {
	if !m.lent {
		m.user.giveBack(m.batch)
	}
	m.batch, m.at, m.lent = m.user.take(), 0, false
}

// turn runs the actor while it may and there is something at hand. It returns true
// after a panic of the actor, which is its supervisor's business.
func (m *mailbox) turn(left *int) (failed bool) {
	var message any
	defer func() {
		if r := recover(); r != nil {
			failed = true
			m.s.reportFailure(m.pid, message, r)
			m.invoker.EscalateFailure(r, message)
		}
	}()
	for *left > 0 {
		if m.systems.Load() > 0 {
			message = m.popSystem()
			m.invokeSystem(message)
			continue
		}
		if int(m.at) == len(m.batch) || m.suspended.Load() || m.held() && !m.dead.Load() {
			return false
		}
		i := &m.batch[m.at]
		m.at++
		*left--
		message = i.message
		in, cost := i.in, i.cost
		*i = item{}
		m.took(in, cost)
		if m.dead.Load() {
			m.s.deadLetter(m.pid, message, ErrStopped)
			continue
		}
		m.invoker.InvokeUserMessage(message)
	}
	return false
}

// took returns what a message took of the credit of a receive stream, or of the mailbox.
func (m *mailbox) took(in *receiveStream, cost uint32) {
	processor.Store64(&m.left, m.left+1)
	if in != nil {
		m.pendingCredit.add(in, cost)
	} else {
		processor.Store64(&m.taken, m.taken+uint64(cost))
		if m.fullAt.Load() != 0 && m.hasSpace() {
			m.refill()
		}
	}
	if m.reprieve.Load() > 0 && m.reprieve.Add(-1) == 0 {
		m.s.probe(m, m.s.waits.Targets(m)...)
	}
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
	if d := m.ref.Load(); d != nil {
		d.box.Store(nil)
	}
	m.s.unwatchAll(m.pid)
	m.suspended.Store(false)
	m.s.boxes.CompareAndDelete(m.pid.Id, m)
	if m.fullAt.Load() != 0 {
		m.refill()
	}
}
