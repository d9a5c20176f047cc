package engine

import (
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/runtime/internal/progress"
	"github.com/gorun-hpc/gorun/transport"
)

// Config describes an engine. Rank and Size must be set, and Route when Size > 1.
type Config struct {
	// Rank is the number of this rank, in [0, Size). Size is the number of ranks of the job.
	Rank, Size int
	// Route returns the transport that reaches a peer, or nil if there is none.
	Route func(peer int) transport.Transport
	// Transports are the transports to poll; the first one is polled most often.
	Transports []transport.Transport
	// Sleeper is used by waiting goroutines and the background goroutine to yield and to sleep. nil means a
	// transport.ChannelSleeper, which suits ranks that are goroutines of one process.
	Sleeper transport.Sleeper
	// Wait is the policy of waiting goroutines.
	Wait WaitPolicy
	// UnexpectedBudget bounds the credit in bytes that the unexpected messages of all peers consume
	// (see the package comment). It must be the same on all ranks. The default is 64 MiB.
	UnexpectedBudget int64
	// ChunkBytes is the maximum length in bytes of one Get or Put. The default is 64 MiB.
	ChunkBytes int
	// Allocate returns n bytes of memory for a message that RecvMessage receives, or an error if there is no
	// memory. It is called only if n exceeds directMax and the bytes are still at the sender (memory.go). n was
	// announced by a peer and is not trusted. Allocate is called without the engine's lock. nil means Go's
	// heap, for up to 1 GiB.
	Allocate func(n int) ([]byte, error)
	// TypeName returns the text of a Type of this rank. nil means a text with the decimal number.
	// TypeName is called with the engine's lock held and must not call the engine.
	TypeName func(Type) string
	// Member reports whether a peer belongs to a context. It is called when a peer is down, to find
	// the contexts in which the loss ends receives and probes from AnySource. nil means that every peer
	// belongs to every context. Member is called with the engine's lock held.
	Member func(context uint32, peer int) bool
	// Lost is called once for every peer that is lost, but not for a peer to which no transport leads. Lost has to
	// reclaim the memory that was handed over to the peer, but not before the peer's process has ended. Lost is
	// called with the engine's lock held and must not call the engine. It may be nil.
	Lost func(peer int, cause error)
	// Release is called when a rank, the argument holder, returns memory of this rank that was
	// handed over to it. It is also called at the end of a transfer of the bytes that took the place of a
	// handover (SendHandover). off is the Addr of the memory's key. In a return, off comes from the peer and
	// is not checked: the peer may not hold that memory, or the memory may not exist. Release is
	// called with the engine's lock held and must not call the engine.
	Release func(holder int, off uint64)
	// Early is the longest time for which actor messages wait for SetActorReceiver before they are
	// refused. The default is 30 s.
	Early time.Duration
	// Notice is called with the arguments of a peer's Notify. text is valid during the call. Notice
	// is called with the engine's lock held and must not call the engine. It may be nil.
	Notice func(source, number int, text []byte)
	// Recorder records the program's operations. nil means a recorder that nobody reads.
	Recorder *flight.Recorder
}

// defaultChunk is used for a Config.ChunkBytes of 0 or less.
const defaultChunk = 64 << 20

// populate checks the configuration and fills in the defaults.
func (c *Config) populate() error {
	if c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("%w: rank %d of %d", ErrAddress, c.Rank, c.Size)
	}
	if c.Route == nil && c.Size > 1 {
		return errors.New("engine: Config.Route is missing")
	}
	if c.UnexpectedBudget <= 0 {
		c.UnexpectedBudget = defaultBudget
	}
	if c.ChunkBytes <= 0 {
		c.ChunkBytes = defaultChunk
	}
	if c.Early <= 0 {
		c.Early = defaultEarly
	}
	if c.Allocate == nil {
		c.Allocate = allocate
	}
	if c.Sleeper == nil {
		c.Sleeper = new(transport.ChannelSleeper)
	}
	return nil
}

// Engine is the message engine of one rank. See the package comment.
type Engine struct {
	cfg     Config
	sleeper transport.Sleeper
	handler transport.Handler // the engine itself, as the transports see it
	// recorder is never nil. Its methods for messages are called with mu held.
	recorder *flight.Recorder
	texts    opTexts
	window   uint32 // initial window of every peer

	// crowd counts the goroutines that wait for mu, and the works of Engine.Go that no goroutine has taken yet.
	// While crowd is above 0, the poller releases mu between polls and lets other goroutines run.
	crowd atomic.Int32
	// workers run the works of Engine.Go that no other goroutine takes first (Engine.Take).
	workers workers
	// attendance has the waits of Attend that are not in blocked.
	attendance attendance
	// mu guards everything below and everything reached from it, and serializes
	// the transports. While mu is held, no lock of the engine is taken except those of workers and
	// attendance. See guard.go.
	mu    mutex
	burst progress.Burst
	share progress.Share
	// slow is true if a transport is slow (transport.Slow).
	slow bool
	// lone is true if Go had a single processor when the engine was made. If the program changes GOMAXPROCS later, only
	// the speed of waits and of other goroutines changes (progress.Pace.Wide).
	lone bool
	// anyPeer is used by lookAt if the engine does not know the rank for which a goroutine waits, for
	// example in a wait for AnySource. It is Remote until the engine has an endpoint that implements
	// transport.Scheduled, and then Unknown.
	anyPeer progress.Peer
	// within counts the waits, the calls of Serve, Poll and Send, and the calls of locked that are under way;
	// one of them may be nested in another. If a panic ends one of them, unlock finds that within is above 0, and
	// ends the engine.
	within int32
	// silent is set when the transports must not be polled and must not get frames any more. Close
	// sets it, because the caller of Close then closes the transports. wreck sets it after a panic.
	silent bool

	peers      []*peer // by rank; nil until met
	match      matcher
	operations operations
	budget     budget
	spare      spareMemory
	backlog    []*peer             // peers with queued frames or transfers, which drive continues after a poll
	moving     int                 // Gets and Puts under way
	rounds     uint                // polls so far; every eighth poll looks at all transports
	handled    uint64              // sum of the results of Transport.Poll
	body       [clearanceSize]byte // of a frame under construction

	requests *Request // free lists
	waiters  *waiter

	token     progress.Token // which goroutine polls, sleeps, is parked and is woken
	blocked   waiterList     // goroutines that the method Blocked lists
	probing   []*waiter      // goroutines that wait for an unexpected message
	crediting []*waiter      // goroutines that wait for the credit of a stream
	armed     bool           // the transports are armed: they ring on an arrival
	idle      uint           // nonblocking calls without result, see nothing

	deaths []int             // ranks that were lost, in the order of the losses
	acked  map[uint32]*acked // by context: the losses that the program has acknowledged
	err    error             // the error of every operation, if not nil

	broken map[uint32]error // by context: the error of its operations
	// barred is the lowest context in broken, or the largest uint32 if broken is empty. Contexts
	// below barred need no lookup in broken.
	barred uint32
	// The field over is the set of contexts that CloseContexts has closed and Forget has not removed yet.
	over map[uint32]bool

	mail mail // actor messages

	background background
}

// New returns an engine. Start gives it background progress.
func New(cfg Config) (*Engine, error) {
	if err := cfg.populate(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:     cfg,
		sleeper: cfg.Sleeper,
		peers:   make([]*peer, cfg.Size),
		window:  firstWindowOf(cfg.UnexpectedBudget, cfg.Size),
		acked:   make(map[uint32]*acked),
		barred:  math.MaxUint32,
	}
	e.burst.Start(cfg.Wait)
	e.share.Start(cfg.Wait)
	e.lone = goruntime.GOMAXPROCS(0) == 1
	e.anyPeer = progress.Remote
	e.budget.free = cfg.UnexpectedBudget - int64(e.window)*int64(cfg.Size)
	e.handler = (*arrivals)(e)
	e.openRecord()
	e.mail.batches.base, e.mail.batches.within = time.Now(), batchWithin
	for _, t := range cfg.Transports {
		if l, ok := t.(transport.Locking); ok {
			l.UseLock(e.locked)
		}
		if s, ok := t.(transport.Slow); ok && s.Slow() {
			e.slow = true
		}
	}
	e.token.Init()
	e.background.wake = make(chan struct{}, 1)
	e.background.ended = make(chan struct{})
	return e, nil
}

// pollBudget is the maximum number of messages that arrive in one poll of a transport.
const pollBudget = 64

// poll polls the transports, each for up to budget messages, and sends open batches and queued
// frames. If the Poll of a transport has found work, poll skips the transports after it, except in every
// eighth poll. It returns the sum of the results of Transport.Poll and of drive. mu is held.
func (e *Engine) poll(budget int) int {
	n := 0
	if e.silent {
		return n
	}
	e.within++
	if len(e.mail.batches.open) > 0 {
		e.sendBatches()
	}
	for i, t := range e.cfg.Transports {
		if i > 0 && n > 0 && e.rounds%8 != 0 {
			break // usually, only the first transport has work
		}
		m, err := t.Poll(e.handler, budget)
		n += m
		if err != nil {
			e.fail(err)
		}
	}
	e.rounds++
	e.handled += uint64(n)
	if len(e.backlog) > 0 {
		n += e.drive()
	}
	e.within--
	return n
}

// pollOnce polls once for a call that is not in a wait. The poll counts as a call of the program.
func (e *Engine) pollOnce() {
	e.token.Called()
	e.pollUncounted()
}

// pollUncounted is pollOnce without the count. Reports about the rank use it.
func (e *Engine) pollUncounted() {
	e.obey(e.token.Dislodge())
	if e.poll(pollBudget) > 0 {
		e.idle = 0
	}
}

// MarkDown records that the process of a peer has ended. Any goroutine may call it at any time.
func (e *Engine) MarkDown(rank int, cause error) {
	e.part(rank, cause, transport.Transport.MarkDown)
}

// GiveUp ends the exchange with a peer whose process may live. Any goroutine may call it at any time.
func (e *Engine) GiveUp(rank int, cause error) {
	e.part(rank, cause, transport.Transport.GiveUp)
}

// part calls a method by which the transport of a peer learns of the loss of the peer. A later Poll reports the loss.
func (e *Engine) part(rank int, cause error, tell func(tr transport.Transport, peer int, cause error)) {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil || p.tr == nil {
		return
	}
	tell(p.tr, rank, cause)
	e.urge()
}

// Prepare tells the transports to prepare for messages to ranks that have joined the job.
func (e *Engine) Prepare(ranks []int) {
	e.lock()
	defer e.unlock()
	for _, rank := range ranks {
		p, err := e.to(rank)
		if err != nil || p.down != nil {
			continue
		}
		if way, ok := p.ep.(transport.Preparer); ok {
			way.Prepare()
		}
	}
}

// Abort ends every blocked and every future operation with err. An operation whose bytes
// a transport is moving ends when the transport has stopped moving them.
func (e *Engine) Abort(err error) {
	e.lock()
	defer e.unlock()
	e.fail(err)
}

// Close ends background progress, and ends every operation with ErrClosed, except those whose
// bytes a transport is moving: EndMoves ends these. The transports stay open.
func (e *Engine) Close() error {
	if e.end() {
		<-e.background.ended
	}
	return nil
}

// EndMoves ends the operations whose bytes a transport was moving when the engine was closed. It is
// called after the transports that move bytes outside of Poll are closed, and before the Sleeper is
// closed.
func (e *Engine) EndMoves() {
	e.lock()
	defer e.unlock()
	e.endMoves()
}

// endMoves is EndMoves with mu held.
func (e *Engine) endMoves() {
	e.moving = 0
	for i := range e.operations.slots {
		if r := e.operations.slots[i].req; r != nil {
			e.complete(r, e.err)
		}
	}
}

// end is the part of Close under the lock. It reports whether Close has to wait for the end of the
// background goroutine. It reports true only in the first call, and only if that goroutine was
// started.
func (e *Engine) end() bool {
	e.lock()
	defer e.unlock()
	e.fail(ErrClosed)
	if e.background.closing {
		return false
	}
	e.background.closing, e.silent = true, true
	e.mail.batches.stop()
	e.mail.early.stop()
	e.obey(e.token.Close())
	e.disarm() // now, because the caller closes the transports before a sleeping goroutine may run
	e.workers.close()
	return e.background.started
}
