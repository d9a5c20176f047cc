package runtime

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/gorun-hpc/gorun/internal/affinity"
	"github.com/gorun-hpc/gorun/internal/monitor"
	"github.com/gorun-hpc/gorun/transport"
)

// Signal stores v in a word and wakes the members on the node that sleep. A rank that sees v also
// sees everything that this rank wrote before Signal. Loads of this rank after Signal may be
// executed before the store of v; if that matters, call Store before Signal.
//
// If barred is true, Signal stores without the memory barrier of Store. That barrier would wait until
// the cache line of the word has arrived from the member that polls it. This wait would be most of the
// time of a small collective operation. Without the barrier, the processor may load sleepers before the
// store of v is visible. Such an early load is harmless, because a member checks the word before it
// sleeps. The member first counts itself in sleepers, then makes every processor that runs a rank
// execute a memory barrier, and then reads the word a last time.
func (s *Shared) Signal(w *Word, v uint64) {
	if s.barred {
		w.publish(v)
	} else {
		w.v.Store(v)
	}
	if s.sleepers.v.Load() != 0 {
		s.wake()
	}
}

// SignalAdd adds d to a word, wakes the members on the node that sleep, and
// returns the new value of the word.
func (s *Shared) SignalAdd(w *Word, d uint64) uint64 {
	v := w.v.Add(d)
	if s.sleepers.v.Load() != 0 {
		s.wake()
	}
	return v
}

// wake rings the doorbell of every member that sleeps. The caller changes the word before it reads
// sleepers, and a sleeper counts itself before it reads the word a last time. So the caller sees
// the sleeper, or the sleeper sees the change. In the sleeper, Engine.giveWay calls Sleeper.Prepare,
// which counts the sleeper. Engine.giveWay then calls Engine.arm, in which the transport executes the
// memory barrier, and Engine.ask, which reads the word.
func (s *Shared) wake() {
	for i, set := range s.asleep {
		for left := set.Load(); left != 0; left &= left - 1 {
			switch member := i*64 + bits.TrailingZeros64(left); {
			case member == s.me:
				s.world.wake() // this rank may sleep on another Sleeper than the bell in the node memory
			case member < len(s.members): // a damaged word may have bits of ranks that do not exist
				s.memory.node.Ring(s.members[member])
			}
		}
	}
}

// Await waits until the value of the word is at least atLeast. Meanwhile the rank makes progress.
// Await returns an error if c's context.Context ends, c is closed or broken, the job is aborted, or a
// member is lost (PeerError). In the handler of an inline actor, Await does not wait: the error is
// ErrInline. If the value of the word is at least atLeast, Await returns nil even in these cases. A
// caller that expects the word to change within microseconds should poll the word before it calls
// Await.
func (s *Shared) Await(c *Comm, w *Word, atLeast uint64) error {
	if w.v.Load() >= atLeast {
		return nil
	}
	t := sharedWaits.Get().(*sharedWait)
	defer sharedWaits.Put(t)
	t.word, t.atLeast, t.memory, t.core = w, atLeast, s.memory, c.core
	s.memory.enlist(s)
	defer s.memory.delist(s)
	for {
		t.losses = s.memory.losses.Load()
		err := s.lost()
		if err == nil {
			err = c.Err()
		}
		if err == nil {
			err = c.engine.Await(c.ctx, t.done, sharedWaitName)
		}
		switch {
		case w.v.Load() >= atLeast:
			return nil
		case err != nil:
			return c.failed(err)
		}
	}
}

// sharedWaitName names an Await in diagnosis and errors.
const sharedWaitName = "wait for shared memory"

// lost returns the PeerError of a member that is down, or nil.
func (s *Shared) lost() error {
	if s.memory.losses.Load() == 0 {
		return nil
	}
	for _, rank := range s.members {
		if cause := s.memory.lossOf(rank); cause != nil {
			return &PeerError{Rank: rank, Op: sharedWaitName, Cause: &transport.PeerDown{Peer: rank, Cause: cause}}
		}
	}
	return nil
}

// sharedWait is one wait for a word. The values are reused, so that Await allocates
// nothing.
type sharedWait struct {
	word    *Word
	atLeast uint64
	memory  *memory
	losses  uint32
	core    *commCore
	// done is the method value of over, made only once because making it allocates.
	done func() bool
}

var sharedWaits = sync.Pool{New: func() any {
	t := new(sharedWait)
	t.done = t.over
	return t
}}

// over reports whether Await has to check its conditions: the value of the word is at least atLeast, a rank was
// lost, or the communicator was closed or broken.
func (t *sharedWait) over() bool {
	return t.word.v.Load() >= t.atLeast || t.memory.losses.Load() != t.losses || t.core.failure.Load() != nil
}

// enlist counts a goroutine of this rank that waits for a word of s.
func (m *memory) enlist(s *Shared) {
	m.mu.Lock()
	if s.waiting++; s.waiting == 1 {
		m.waits = append(m.waits, s)
		m.waiting.Store(uint32(len(m.waits)))
	}
	m.mu.Unlock()
}

// delist reverses enlist when a goroutine ends its wait for a word of s.
func (m *memory) delist(s *Shared) {
	m.mu.Lock()
	if s.waiting--; s.waiting == 0 {
		i := slices.Index(m.waits, s)
		m.waits = slices.Delete(m.waits, i, i+1)
		m.waiting.Store(uint32(len(m.waits)))
		s.announce(false)
	}
	m.mu.Unlock()
}

// announce adds this rank to the sleepers of s or removes it. memory.mu is held.
func (s *Shared) announce(asleep bool) {
	if s.announced == asleep {
		return
	}
	s.announced = asleep
	bit := uint64(1) << (s.me % 64)
	if asleep {
		s.asleep[s.me/64].v.Or(bit)
		s.sleepers.Add(1)
		return
	}
	s.sleepers.Add(^uint64(0))
	s.asleep[s.me/64].v.And(^bit)
}

// wordSleeper is the Sleeper of a rank whose goroutines may wait for words in shared memory. Before one
// of these goroutines sleeps, the wordSleeper announces the rank to the writers of the words. As long as
// no rank is announced, a writer only reads a counter. No rank writes this counter in the meantime.
//
// A wordSleeper also lets the rank return to its processor when the rank yields.
type wordSleeper struct {
	transport.Sleeper
	memory *memory
	home   *affinity.Home // nil if the rank does not return to a processor
}

var _ transport.Sleeper = wordSleeper{}

// Prepare implements transport.Sleeper.
func (w wordSleeper) Prepare() uint32 {
	if w.memory.waiting.Load() != 0 {
		w.memory.mu.Lock()
		for _, s := range w.memory.waits {
			s.announce(true)
		}
		w.memory.mu.Unlock()
	}
	return w.Sleeper.Prepare()
}

// Yield implements transport.Sleeper.
func (w wordSleeper) Yield() { w.home.Yield(w.Sleeper) }

// Sleep implements transport.Sleeper.
func (w wordSleeper) Sleep(ticket uint32, nanos int64) {
	monitor.Restore()
	w.Sleeper.Sleep(ticket, nanos)
}
