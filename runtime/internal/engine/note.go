package engine

import (
	"time"

	"github.com/gorun-hpc/gorun/internal/flight"
)

// ofProgram reports whether a context is for messages of the user. The other contexts are for messages
// of libraries, for control messages, and for streams. Only the user's messages are recorded.
func ofProgram(context uint32) bool { return context%flight.Contexts == 0 }

// Recorder returns the recorder of the rank.
func (e *Engine) Recorder() *flight.Recorder { return e.recorder }

// Tick sets the clock of the recorder, see flight.Recorder.Tick.
func (e *Engine) Tick(now time.Time) {
	e.lock()
	defer e.unlock()
	e.recorder.Tick(now)
}

// opTexts holds the numbers under which the recorder knows the names of the operations.
type opTexts struct {
	ops   [len(opNames)]uint8
	probe uint8
}

// openRecord sets the recorder and registers the names of the operations with it.
func (e *Engine) openRecord() {
	if e.recorder = e.cfg.Recorder; e.recorder == nil {
		e.recorder = flight.New(nil)
	}
	for o, name := range opNames {
		e.texts.ops[o] = e.recorder.Text(name)
	}
	e.texts.probe = e.recorder.Text("probe")
}

// note records the beginning of an operation in a context of the user.
func (e *Engine) note(r *Request) {
	if ofProgram(r.target.context) {
		r.record = e.recorder.Begin(e.texts.ops[r.op], r.target.context, int(r.target.source), int(r.target.tag), len(r.buf))
		r.noted = true
	}
}

// noteStarted records the beginning of an operation, and its end if it has ended already.
func (e *Engine) noteStarted(r *Request) {
	if e.note(r); r.noted && r.phase == phaseDone {
		e.noteEnd(r)
	}
}

// noteEnd records the end of an operation whose beginning was recorded.
func (e *Engine) noteEnd(r *Request) {
	r.noted = false
	bytes := 0
	switch {
	case r.err != nil:
	case r.op == opRecv:
		bytes = r.status.Bytes
	case r.op == opRecvMessage:
		bytes = r.status.Bytes
		e.recorder.Received(r.record, bytes)
	default:
		bytes = len(r.buf)
	}
	e.recorder.End(r.record, bytes, r.err != nil)
}

// noteReceived records a blocking receive that has ended. The caller calls it only if the beginning
// was not recorded during the wait.
func (e *Engine) noteReceived(r *Request) {
	if s := &r.status; r.err == nil {
		e.recorder.Moved(e.texts.ops[r.op], r.target.context, s.Source, s.Tag, s.Bytes)
		return
	}
	e.note(r)
	e.noteEnd(r)
}

// noteWait records that the goroutine of w has been waiting since w.since. For the serving goroutine,
// it records only the time.
func (e *Engine) noteWait(w *waiter) {
	e.recorder.Tick(w.since)
	if w == e.mail.server {
		return
	}
	e.recorder.Wait()
	if w.req != nil && w.req.late {
		w.req.late = false
		e.note(w.req)
	}
	e.noteWaiting(w, 0)
}

// noteSleep records the call site of the goroutine of w, which is about to sleep or park.
func (e *Engine) noteSleep(w *waiter) { e.noteWaiting(w, e.recorder.Place(w.stack[:w.depth])) }

// noteWaiting records that the operation of w is waiting. The argument at is its call site, or 0 if
// the call site is not known.
func (e *Engine) noteWaiting(w *waiter, at flight.Site) {
	if w.req != nil && w.req.noted {
		e.recorder.Waiting(w.req.record, at)
	} else if w.noted {
		e.recorder.Waiting(w.record, at)
	}
}

// noteResume records that the goroutine of w has stopped waiting. If it has waited for a receive, the length of the
// message takes the place of the length of the buffer in the record. noteEnd does this only for RecvMessage, because
// noteEnd is called for receives that end at once, too.
func (e *Engine) noteResume(w *waiter) {
	if w == e.mail.server {
		return
	}
	e.recorder.Resume()
	r := w.req
	if r == nil || r.waiter != w { // a wait of Attend: another goroutine may have taken the result
		return
	}
	if r.op == opRecv && r.phase == phaseDone && r.err == nil && ofProgram(r.target.context) {
		e.recorder.Received(r.record, r.status.Bytes)
	}
}
