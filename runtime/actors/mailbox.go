package actors

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// turnMax is the number of messages after which an actor lets other actors run.
const turnMax = 300

// mailbox holds the messages that wait for one actor, in order. It runs the actor on a worker or on
// the serving goroutine, in turns of at most turnMax messages.
//
// The fields are in three groups in separate cache lines: fields that the senders write, fields that the
// goroutine of the actor writes, and fields that rarely change. A cache line that two processors write
// alternately costs more than all other work for a message.
type mailbox struct {
	s       *System
	invoker actor.MessageInvoker
	pid     *actor.PID
	process actor.Process
	inline  bool
	serial  uint32 // the number of an inline actor for the stall detector, otherwise 0

	// The following fields are read for every message and rarely change.
	dead      atomic.Bool   // the actor has stopped
	suspended atomic.Bool   // written by the goroutine that runs the actor
	systems   atomic.Int32  // length of system
	reprieve  atomic.Int32  // number of messages that the actor may handle although its outbox is not empty
	outbox    atomic.Int64  // bytes in the actor's outbox
	fullAt    atomic.Uint64 // value of posted when a sender last began to wait, or at a later refill; 0 if none waits
	restarts  atomic.Int32
	replaced  atomic.Bool // a later actor or router has the name of this actor, which is stopping or has stopped
	// mu guards system and overflow.
	system   []any
	overflow *overflow

	// mu guards the fields up to the blank line.
	mu        sync.Mutex
	scheduled bool // the actor runs, or is in a queue to run
	started   bool // Start was called, so the actor may run
	user      queue
	posted    uint64                     // total bytes of this rank's messages ever put into user
	limit     uint64                     // largest allowed value of posted, computed when a sender last read taken
	ref       atomic.Pointer[mailboxRef] // for streams to this actor; nil before the first stream
	_         [8]byte

	// The goroutine that runs the actor owns the following fields. taken and left are read by other
	// goroutines. For messages that have left the queue, taken counts the bytes of this rank's messages,
	// and left counts the messages of all ranks.
	taken         uint64
	left          uint64
	batch         []item // messages that were removed from user; the messages in batch[:at] are handled
	at            int32
	lent          bool // batch belongs to the caller of accept
	pendingCredit pendingCredit
}

var _ actor.Mailbox = (*mailbox)(nil)

// newMailbox returns the mailbox of a new actor, which is inline or runs on workers.
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
	self, ok := invoker.(interface{ Self() *actor.PID })
	if !ok {
		return
	}
	pid := self.Self()
	m.mu.Lock() // because messages may already arrive
	m.pid = pid
	m.process, _ = m.s.ProcessRegistry.GetLocal(pid.Id)
	m.mu.Unlock()
	if earlier, ok := m.s.boxes.Swap(pid.Id, m); ok {
		earlier.(*mailbox).replace()
	}
}

// Start implements actor.Mailbox. The actor's Process is registered before Start is called, so
// messages may already have arrived.
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
	if w, ok := message.(*actor.Watch); ok {
		m.s.fence(w.Watcher)
	}
	m.mu.Lock()
	m.system = append(m.system, message)
	m.systems.Add(1)
	m.arouse()
}

// arouse schedules the actor if it is started and not yet scheduled. The caller holds mu; arouse
// releases it.
func (m *mailbox) arouse() {
	if m.scheduled || !m.started {
		m.mu.Unlock()
		return
	}
	m.scheduled = true
	m.mu.Unlock()
	m.schedule()
}

// schedule puts the mailbox in the queue of the serving goroutine or of the workers.
func (m *mailbox) schedule() {
	if m.inline {
		m.s.deferTask(deferredTask{run: m})
	} else {
		m.s.workers.push(m)
	}
}

// wake schedules the actor after its outbox has become empty, or after it has got a reprieve.
func (m *mailbox) wake() {
	m.mu.Lock()
	m.arouse()
}

// batchOf returns the MessageBatch that a message is, or nil. As in protoactor's mailboxes, an actor gets the parts
// of a batch before the batch itself, which may be a request.
func batchOf(message any) actor.MessageBatch {
	batch, _ := actor.UnwrapEnvelopeMessage(message).(actor.MessageBatch)
	return batch
}

// unpack posts the parts of a batch. If GetMessages panics, the batch becomes a dead letter, and unpack returns
// false: a panic would end the serving goroutine, which posts messages of other ranks.
func (m *mailbox) unpack(batch actor.MessageBatch, message any, post func(part any)) bool {
	var parts []any
	if err := codec.Contained(func() error { parts = batch.GetMessages(); return nil }); err != nil {
		m.refuse(message, fmt.Errorf("parts of a batch: %w", err))
		return false
	}
	for _, part := range parts {
		post(part)
	}
	return true
}

// PostUserMessage implements actor.Mailbox. Any goroutine of this rank may call it, whether it runs an
// actor or not.
func (m *mailbox) PostUserMessage(message any) {
	if batch := batchOf(message); batch != nil && !m.unpack(batch, message, m.PostUserMessage) {
		return
	}
	if e, ok := message.(*actor.MessageEnvelope); ok {
		m.s.fence(e.Sender)
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

// put appends a message of this rank and counts its bytes. mu is held.
func (m *mailbox) put(i item) {
	m.posted += uint64(i.cost)
	m.user.push(i)
}

// postArrived appends a message of another rank. The mailbox always has space for such a message,
// because the stream's credit bounds these messages. The parts of a batch take no credit of their own.
func (m *mailbox) postArrived(i item) {
	post := func(part any) { m.postArrived(item{message: part, in: i.in}) }
	if batch := batchOf(i.message); batch != nil && !m.unpack(batch, i.message, post) {
		i.in.repay(i.cost)
		return
	}
	m.mu.Lock()
	m.user.push(i)
	m.arouse()
}

// accept takes messages of another rank, for which the mailbox always has space. The serving
// goroutine calls accept, and may reuse items afterwards. If the actor is inline and idle, it handles
// the messages at once. If the actor is idle and not inline, accept stores its mailbox in p.next, provided
// that p.next is nil and the serving goroutine can leave Serve; otherwise a worker runs the actor. The
// serving goroutine may leave Serve and run the actor in p.next itself (see inbound.work).
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

// weight returns the bytes that a message of this rank counts against Config.Mailbox and Config.Outbox. Only a []byte,
// a string and a *runtime.Message count their length: for other types, a search for the type in each call costs too
// much.
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

// held reports whether the actor must not handle messages: its outbox is not empty, and it has no
// reprieve.
func (m *mailbox) held() bool { return m.outbox.Load() > 0 && m.reprieve.Load() <= 0 }

// run runs the actor until it has no message or must not run, or until its turn is over after turnMax
// messages. If the turn is over and work is left, run returns true, and the caller must schedule the mailbox again.
func (m *mailbox) run() (again bool) {
	left := turnMax
	for {
		failed := m.turn(&left)
		m.pendingCredit.settle()
		if failed {
			continue
		}
		m.mu.Lock()
		moved := m.refilled() // before fetch, which then takes these messages, too
		if int(m.at) == len(m.batch) {
			m.fetch()
		}
		idle := m.systems.Load() == 0 && (int(m.at) == len(m.batch) || m.suspended.Load() || m.held() && !m.dead.Load())
		m.scheduled = !idle
		m.mu.Unlock()
		m.moved(moved)
		if idle || left <= 0 {
			return !idle
		}
	}
}

// fetch replaces the batch by the next messages of user, after all messages of the batch were handled.
// mu is held.
func (m *mailbox) fetch() {
	if !m.lent {
		m.user.giveBack(m.batch)
	}
	m.batch, m.at, m.lent = m.user.take(), 0, false
}

// errGoexit is the failure of an actor that has called runtime.Goexit, for example through testing.T.FailNow.
var errGoexit = errors.New("the actor has called runtime.Goexit")

// turn runs the actor until the batch is handled, the actor must not run, or left is 0. If the actor
// panics, turn reports the panic to the supervisor and returns true. If the actor calls runtime.Goexit, turn does
// not return. It reports errGoexit to the supervisor, and another goroutine continues to run the actor.
func (m *mailbox) turn(left *int) (failed bool) {
	var message any
	returns := false
	defer func() {
		r := recover()
		if r == nil && returns {
			return
		}
		failed = true
		if r == nil {
			r = errGoexit
			defer m.schedule()
			defer m.pendingCredit.settle()
		}
		m.s.reportFailure(m.pid, message, r)
		m.invoker.EscalateFailure(r, message)
		if m.notice() {
			m.tellEnd()
		}
	}()
	for *left > 0 {
		if m.systems.Load() > 0 {
			message = m.popSystem()
			m.invokeSystem(message)
			continue
		}
		if int(m.at) == len(m.batch) || m.suspended.Load() || m.held() && !m.dead.Load() {
			break
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
	returns = true
	return false
}

// took records that a message has left the queue. For a message of another rank, it adds the message's
// credit to pendingCredit, which returns it to the receive stream. For a message of this rank, it returns
// the message's space to the mailbox.
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

// popSystem removes and returns the first system message.
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

// invokeSystem handles a system message.
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
