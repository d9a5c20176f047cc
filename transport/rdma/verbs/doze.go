package verbs

import "time"

// Attend sets who makes progress while a queue is armed. If attended is false, which is the default, a goroutine of
// the adapter does. If attended is true, Arm neither starts nor wakes this goroutine, and Wait fails with
// ErrInvalidState. Instead, a goroutine of the consumer calls Doze after Arm, and then Poll. This saves the switches
// between the goroutine that sleeps in the kernel and the goroutine that polls. The caller ensures that no queue is
// armed when it calls Attend.
func (a *Adapter) Attend(attended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting.attended = attended
}

// Doze sleeps in the kernel until the adapter may have work for Poll, until the given time, or until Rouse. The
// zero time means no limit. Doze may return early. An Arm does not end a Doze: Doze makes progress, and sleeps again
// if there was no work. If another goroutine sleeps in the adapter, or the adapter is closed or not attended, Doze
// returns false at once.
func (a *Adapter) Doze(until time.Time) bool {
	a.mu.Lock()
	defer a.unlock()
	w := &a.waiting
	if a.closed || !w.attended || w.sleeper != nil {
		return false
	}
	for a.device.Idle() {
		limit := until
		if at := a.deadlines.earliest; !at.IsZero() && (until.IsZero() || at.Before(until)) {
			limit = at
		}
		w.rearmed = false
		a.suspend(&w.dozer, limit)
		if !w.rearmed || w.roused || a.closed || !w.attended || a.drive() > 0 || a.failure != nil || w.dirty {
			break
		}
	}
	w.roused = false
	a.handOver() // to a goroutine that has parked since Attend(false)
	return true
}

// Rouse wakes the goroutine that sleeps in the adapter. If there is none, the next sleep ends at once. Any goroutine
// may call Rouse, also after Close.
func (a *Adapter) Rouse() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.waiting.roused = true
		a.device.Wake()
	}
}
