package engine

import (
	"time"

	"github.com/gorun-hpc/gorun/internal/flight"
)

// ofProgram reports whether messages of a context are the program's: only these are recorded.
func ofProgram(context uint32) bool { return context%flight.Contexts == 0 }

// Recorder returns the recorder of the rank.
func (e *Engine) Recorder() *flight.Recorder { return e.recorder }

// Tick sets the clock of the record, see flight.Recorder.Tick.
func (e *Engine) Tick(now time.Time) {
	e.lock()
	defer e.unlock()
	e.recorder.Tick(now)
}

// opTexts are the texts of the operations in the record.
type opTexts struct {
	ops   [len(opNames)]uint8
	probe uint8
}

// openRecord makes the texts.
func (e *Engine) openRecord() {
	if e.recorder = e.cfg.Recorder; e.recorder == nil {
		e.recorder = flight.New(nil)
	}
	for o, name := range opNames {
		e.texts.ops[o] = e.recorder.Text(name)
	}
	e.texts.probe = e.recorder.Text("probe")
}

// note records the begin of an operation of the program.
func (e *Engine) note(r *Request) {
	if ofProgram(r.target.context) {
		r.record = e.recorder.Begin(e.texts.ops[r.op], r.target.context, int(r.target.source), int(r.target.tag), len(r.buf))
		r.noted = true
	}
}

// noteStarted records an operation that was started, and its end if it has ended already.
func (e *Engine) noteStarted(r *Request) {
	if e.note(r); r.noted && r.phase == phaseDone {
		e.noteEnd(r)
	}
}

// noteEnd records its end.
func (e *Engine) noteEnd(r *Request) {
	r.noted = false
	bytes := len(r.buf)
	if r.op == opRecv || r.op == opRecvMessage {
		bytes = r.status.Bytes
	}
	if r.err != nil {
		bytes = 0
	}
	e.recorder.End(r.record, bytes, r.err != nil)
}

// noteReceived records a blocking receive that ended, if it was not recorded while it waited.
func (e *Engine) noteReceived(r *Request) {
	if s := &r.status; r.err == nil {
		e.recorder.Moved(e.texts.ops[r.op], r.target.context, s.Source, s.Tag, s.Bytes)
		return
	}
	e.note(r)
	e.noteEnd(r)
}

// noteWait records that a goroutine begins to wait, since w.since.
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

// noteSleep records where the goroutine has called that is about to sleep.
func (e *Engine) noteSleep(w *waiter) { e.noteWaiting(w, e.recorder.Place(w.stack[:w.depth])) }

// noteWaiting records that w waits.
func (e *Engine) noteWaiting(w *waiter, at flight.Site) {
	if w.req != nil && w.req.noted {
		e.recorder.Waiting(w.req.record, at)
	} else if w.noted {
		e.recorder.Waiting(w.record, at)
	}
}

// noteResume records that the goroutine goes on.
func (e *Engine) noteResume(w *waiter) {
	if w != e.mail.server {
		e.recorder.Resume()
	}
}
