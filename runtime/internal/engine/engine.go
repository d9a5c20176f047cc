package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
	"github.com/gorun-hpc/gorun/transport"
)

// Config describes an engine. Rank and Size must be set, and Route when Size > 1.
type Config struct {
	// Rank is this rank, in [0, Size).
	Rank, Size int
	// Route returns the transport that leads to peer, or nil if none does.
	Route func(peer int) transport.Transport
	// Transports are all that have to be polled; the first is polled most often.
	Transports []transport.Transport
	// Sleeper is how waiting goroutines give way. nil = goroutines only.
	Sleeper transport.Sleeper
	// Wait is the policy of waiting goroutines.
	Wait WaitPolicy
	// UnexpectedBudget bounds the memory in bytes for messages nobody asked for
	// yet, all peers together. It must be the same on all ranks. Default 64 MiB.
	UnexpectedBudget int64
	// ChunkBytes is the longest single Get or Put. Default 64 MiB.
	ChunkBytes int
	// Allocate returns memory for n bytes of a message that RecvMessage receives, or
	// why there is none: n is what a peer says. Called without the engine's lock. nil =
	// Go's heap, for up to 1 GiB.
	Allocate func(n int) ([]byte, error)
	// TypeName returns the text of a Type of this rank. nil = decimal numbers.
	// Called with the engine's lock held: it must not call the engine.
	TypeName func(Type) string
	// Member says whether a peer belongs to a context. It is asked when a peer is
	// down, to decide in which contexts AnySource receives hear of it. nil = every
	// peer belongs to every context. Called with the engine's lock held.
	Member func(context uint32, peer int) bool
	// Lost is told once of every peer that is down, and takes back the memory that was
	// handed over to it. Called with the engine's lock held: it must not call the
	// engine. May be nil.
	Lost func(peer int, cause error)
	// Release is told that holder, to whom memory of this rank was handed over, gives it
	// back, or that the engine has brought its bytes there; off is the Addr of its key.
	// What a peer says is not checked: whether it holds that memory, nor whether there is
	// any. Called with the engine's lock held: it must not call the engine.
	Release func(holder int, off uint64)
	// Early is how long actor messages wait for the actor receiver of this rank, before they are
	// refused. Default 30 s.
	Early time.Duration
	// Notice is told what a peer gave to Notify. text is valid during the call.
	// Called with the engine's lock held: it must not call the engine. May be nil.
	Notice func(source, number int, text []byte)
}

// defaultChunk is Config.ChunkBytes when it is 0.
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
	window  uint32            // first window of every peer
	burst   int               // polls between two looks at the world

	// crowd counts the goroutines that found mu taken; the poller lets them in.
	crowd atomic.Int32
	// mu guards everything below and everything reached from it, and serialises
	// the transports. No lock of the engine is taken under it. See guard.go.
	mu mutex
	// within counts the calls, under way and nested, that nobody may unwind from: see unlock.
	within int32
	// silent says that the transports are left alone: the engine is closed, and who did
	// that closes them, or a panic came out of it.
	silent bool

	peers      []*peer // by rank; nil until met
	match      matcher
	operations operations
	budget     budget
	spare      spareMemory
	backlog    []*peer             // with something to drive after a poll
	moving     int                 // Gets and Puts under way
	rounds     uint                // polls, to be fair to the transports
	body       [clearanceSize]byte // of a frame that is being made

	requests *Request // free lists
	frames   *frame
	waiters  *waiter

	token     progress.Token // who polls, sleeps, is parked and is woken
	blocked   waiterList     // who waits for long
	probing   []*waiter      // who waits for an unexpected message
	crediting []*waiter      // who waits for the credit of a stream
	armed     bool           // the transports ring
	idle      uint           // nonblocking calls in a row that found nothing

	deaths   []int          // ranks that are down, in order
	reported map[uint32]int // context: how many of deaths its AnySource receives know
	err      error          // every operation ends with it

	broken map[uint32]error // by context: what its operations end with

	mail mail // actor messages

	background background
}

// New returns an engine. Start gives it background progress.
func New(cfg Config) (*Engine, error) {
	if err := cfg.populate(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:      cfg,
		sleeper:  cfg.Sleeper,
		peers:    make([]*peer, cfg.Size),
		window:   firstWindowOf(cfg.UnexpectedBudget, cfg.Size),
		burst:    burstSpinning,
		reported: make(map[uint32]int),
	}
	if cfg.Wait.Spin <= 0 {
		e.burst = burstYielding
	}
	e.budget.free = cfg.UnexpectedBudget - int64(e.window)*int64(cfg.Size)
	e.handler = (*arrivals)(e)
	e.mail.batches.base, e.mail.batches.within = time.Now(), batchWithin
	for _, t := range cfg.Transports {
		if l, ok := t.(transport.Locking); ok {
			l.UseLock(e.locked)
		}
	}
	e.token.Init()
	e.background.wake = make(chan struct{}, 1)
	e.background.ended = make(chan struct{})
	return e, nil
}

// pollBudget is the number of messages one poll of a transport hands over.
const pollBudget = 64

// poll asks each transport for so many arrivals and drives what was refused. It
// returns how much it found to do. mu is held.
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
			break // the busy first one, mostly
		}
		m, err := t.Poll(e.handler, budget)
		n += m
		if err != nil {
			e.fail(err)
		}
	}
	e.rounds++
	if len(e.backlog) > 0 {
		n += e.drive()
	}
	e.within--
	return n
}

// pollOnce is the poll of a call that does not wait.
func (e *Engine) pollOnce() {
	e.token.Called()
	e.obey(e.token.Dislodge())
	if e.poll(pollBudget) > 0 {
		e.idle = 0
	}
}

// MarkDown says that a peer is gone for good: it was reaped. The transport hears of it
// also when the peer was given up before: what such a peer might still have written to
// is free now. Safe at any time from any goroutine.
func (e *Engine) MarkDown(rank int, cause error) {
	e.lock()
	defer e.unlock()
	p, err := e.to(rank)
	if err != nil || p.tr == nil {
		return
	}
	p.tr.MarkDown(rank, cause)
	e.urge()
}

// Prepare makes the ways to these ranks ready for messages, as far as that can be done
// before the first one. They have joined the job.
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

// Flush waits until the lanes have taken every frame that was given to them. A
// rank does it before it leaves: others wait for these frames.
func (e *Engine) Flush(ctx context.Context) error {
	return e.Await(ctx, func() bool { return len(e.backlog)+len(e.mail.batches.open) == 0 }, 0, "flush")
}

// Abort ends every blocked and every future operation with err. Operations whose
// bytes a transport is moving end when it has stopped.
func (e *Engine) Abort(err error) {
	e.lock()
	defer e.unlock()
	e.fail(err)
}

// Close ends background progress, and every operation with ErrClosed but for those whose
// bytes a transport is moving: EndMoves ends them. The transports stay open.
func (e *Engine) Close() error {
	if e.end() {
		<-e.background.ended
	}
	return nil
}

// EndMoves ends the operations whose bytes were on their way when the engine was closed. It
// is called when nothing moves any more: after the transports that move bytes outside of
// Poll are closed, and before the Sleeper is.
func (e *Engine) EndMoves() {
	e.lock()
	defer e.unlock()
	e.endMoves()
}

// endMoves is EndMoves under the lock.
func (e *Engine) endMoves() {
	e.moving = 0
	for i := range e.operations.slots {
		if r := e.operations.slots[i].req; r != nil {
			e.complete(r, e.err)
		}
	}
}

// end is Close, once. It returns whether the background has yet to end.
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
	return e.background.started
}
