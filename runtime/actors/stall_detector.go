package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// inlineTime is the period of the checks. An inline actor that handles one message for longer than one to two periods
// is reported.
const inlineTime = time.Second

// stallDetector reports an inline actor that handles one message for a long time. Most likely such an
// actor waits for a Future of protoactor. This package cannot refuse that wait, and during the wait
// no answer of another rank can arrive. The detector checks every inlineTime. It costs an inline
// actor one store per run.
type stallDetector struct {
	// running is the serial of the inline actor that is running or, if none is running, of the actor
	// that ran last. The serving goroutine stores it.
	running uint32

	// mu guards the fields below it.
	mu      sync.Mutex
	serials uint32      // the last serial of an inline actor; serials begin with 1
	timer   *time.Timer // started for the first inline actor
	closed  bool
	told    map[uint32]bool // the serials of the actors that were reported
	box     *mailbox        // at the last check: the inline actor that was running or, if none was, the last one
	left    uint64          // number of messages that box had taken at the last check
	at      time.Time       // time of the last check that set box to a mailbox
}

// enroll returns the serial for a new inline actor. For the first inline actor it also starts the checks.
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

// look is the periodic check. It reports the actor that ran last, if that actor still handles the same
// message as at the last check. It logs without holding a lock, because the Logger may be slow, and starts
// the timer again only afterwards.
func (s *System) look() {
	if m := s.stallDetector.held(s); m != nil {
		s.cfg.Logger.Warn("an inline actor blocks the delivery of all messages at its rank: if it waits for a Future it should use ReenterAfter, if it computes it should be a Worker",
			"actor", name(m.pid), "for", inlineTime)
	}
	s.stallDetector.again()
}

// again starts the timer for the next check.
func (o *stallDetector) again() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.timer.Reset(inlineTime)
	}
}

// held returns the actor that ran last, if it still handles the same message as at the last check and was
// never reported. Otherwise it returns nil.
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
	// If much more time than inlineTime has passed since the last check, the process was suspended, and
	// nothing is reported.
	if o.box != box || o.left != left || since > 2*inlineTime || !o.box.running() || o.told[box.serial] {
		return nil
	}
	if o.told == nil {
		o.told = make(map[uint32]bool)
	}
	o.told[box.serial] = true
	return box
}

// present returns the inline actor that ran last, if it is running or is in a queue to run. Otherwise it returns nil.
func (o *stallDetector) present(s *System) *mailbox {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.find(s); o.box == nil || !o.box.running() {
		return nil
	}
	return o.box
}

// find sets box to the actor that ran last, or to nil if there is none. mu is held.
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
