package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// inlineTime is how long an inline actor may handle one message before that is reported.
const inlineTime = time.Second

// stallDetector reports an inline actor that handles one message for long. Most likely the actor
// waits for a Future of protoactor. This package cannot refuse that wait, and no answer of
// another rank arrives meanwhile. The detector checks every inlineTime. It costs the actors one
// store per turn.
type stallDetector struct {
	// running is the serial of the inline actor that ran last, published by the serving
	// goroutine.
	running uint32

	// mu guards the fields below it.
	mu      sync.Mutex
	serials uint32      // of inline actors, from 1 on
	timer   *time.Timer // started with the first inline actor
	closed  bool
	told    map[uint32]bool // the actors that were reported
	box     *mailbox        // the actor that ran at the last check
	left    uint64          // number of messages that it had taken then
	at      time.Time
}

// enroll gives an inline actor its serial.
func (s *System) enroll() uint32 {
	o := &s.stallDetector
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.serials++; o.timer == nil && !o.closed {
		o.timer = time.AfterFunc(inlineTime, s.look)
	}
	return o.serials
}

// close ends the checks.
func (o *stallDetector) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed = true; o.timer != nil {
		o.timer.Stop()
	}
}

// ran records the actor that runs. The serving goroutine calls it.
func (o *stallDetector) ran(m *mailbox) { processor.Store32(&o.running, m.serial) }

// look reports the actor that ran last if it still handles the message of the last check. It
// writes the log without a lock, because the reader of the log may be slow, and starts the
// timer again afterwards.
func (s *System) look() {
	if m := s.stallDetector.held(s); m != nil {
		s.cfg.Logger.Warn("an inline actor holds up all that arrives at its rank: if it waits for a Future it should use ReenterAfter, if it computes it should be a Worker",
			"actor", name(m.pid), "for", inlineTime)
	}
	s.stallDetector.again()
}

// again starts the timer again.
func (o *stallDetector) again() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.timer.Reset(inlineTime)
	}
}

// held returns the actor that ran last if it still handles the message of the last check and
// was not reported for it.
func (o *stallDetector) held(s *System) *mailbox {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	box, left, since := o.box, o.left, time.Since(o.at)
	if o.find(s); o.box == nil {
		return nil
	}
	o.left, o.at = atomic.LoadUint64(&o.box.left), time.Now()
	// If much more time has passed, the process was suspended.
	if o.box != box || o.left != left || since > 2*inlineTime || !o.box.running() || o.told[box.serial] {
		return nil
	}
	if o.told == nil {
		o.told = make(map[uint32]bool)
	}
	o.told[box.serial] = true
	return box
}

// find finds the actor that ran last, if it is not box. mu is held.
func (o *stallDetector) find(s *System) {
	serial := atomic.LoadUint32(&o.running)
	if o.box != nil && o.box.serial == serial {
		return
	}
	o.box = nil
	if serial == 0 {
		return
	}
	s.boxes.Range(func(_, v any) bool {
		if m := v.(*mailbox); m.serial == serial {
			o.box = m
		}
		return o.box == nil
	})
}

// running reports whether the actor runs or is in a queue to run.
func (m *mailbox) running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.scheduled
}
