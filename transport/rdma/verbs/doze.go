package verbs

import "time"

// Attend sets who makes progress while a queue is armed. If attended is false, which is the default, a goroutine of
// the adapter does. If attended is true, Arm neither starts nor wakes this goroutine, and Wait fails with
// ErrInvalidState. Instead, a goroutine of the consumer calls Doze after Arm, and then Poll. This saves the switches
// between the goroutine that sleeps in the kernel and the goroutine that polls. No queue is armed during Attend.
func (a *Adapter) Attend(attended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting.attended = attended
}

// Doze sleeps in the kernel until the adapter may have work for Poll, until the given time, or until Rouse. The
// zero time means no limit. Doze may return early. It makes no progress itself. If another goroutine
// sleeps in the adapter, or the adapter is closed or not attended, Doze returns false at once.
func (a *Adapter) Doze(until time.Time) bool {
	a.mu.Lock()
	defer a.unlock()
	if a.closed || !a.waiting.attended || a.waiting.sleeper != nil {
		return false
	}
	if !a.device.Idle() {
		return true
	}
	if at := a.deadlines.earliest; !at.IsZero() && (until.IsZero() || at.Before(until)) {
		until = at
	}
	a.suspend(&a.waiting.dozer, until)
	return true
}

// Rouse wakes the goroutine that sleeps in the adapter. If there is none, the next sleep ends at once. Any goroutine
// may call Rouse, also after Close.
func (a *Adapter) Rouse() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.device.Wake()
	}
}
