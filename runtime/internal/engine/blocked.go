package engine

import (
	"slices"
	"time"
)

// Blocked is an operation for which a goroutine has waited for some time.
type Blocked struct {
	// Op names the operation, such as "receive", "send" or "probe". For Await and AwaitCredit, it is the
	// argument what.
	Op string
	// Await reports whether the goroutine waits in Await, AwaitCredit or Serve, and not for a
	// message. If Await is true, Peer and Tag are -1, and Context and Bytes have no meaning. Serves
	// reports whether the goroutine waits in Serve, for actor messages.
	Await, Serves bool
	// Limited reports whether the end of a context.Context may end the wait. An [InnerContext] that
	// only the program ends does not count. Several reports whether the goroutine waits for any one
	// of several operations. The record then describes one of them.
	Limited, Several bool
	// Peer is the destination or the source, which may be AnySource. Tag may be AnyTag.
	Peer, Tag int
	Context   uint32
	// Stack is the call stack of the goroutine at its call of the engine, innermost frame first, for
	// goruntime.CallersFrames. It is empty if the goroutine has neither slept nor parked yet.
	Stack []uintptr
	// Since is the time at which the first polls ended without result, about a microsecond after the
	// start of the wait. For a wait of Handle.Attend, which does not poll, it is the start of the wait.
	Since time.Time
	// Bytes is the length of the caller's buffer.
	Bytes int
}

// Blocked lists the operations for which goroutines wait. For a goroutine in WaitAny it lists one of
// the operations.
func (e *Engine) Blocked() []Blocked {
	e.attendance.callAll()
	e.lock()
	defer e.unlock()
	var list []Blocked
	for w := e.blocked.head; w != nil; w = w.next {
		b := Blocked{
			Op: w.op(), Peer: int(w.from.source), Tag: int(w.from.tag),
			Context: w.from.context, Since: w.since, Limited: w.limited, Several: w.several,
		}
		if w.depth > 0 {
			b.Stack = slices.Clone(w.stack[:w.depth])
		}
		if r := w.req; r != nil {
			b.Peer, b.Tag, b.Context = int(r.target.source), int(r.target.tag), r.target.context
			b.Bytes = len(r.buf)
		} else if w.done != nil || w.stream != nil {
			b.Peer, b.Tag, b.Await, b.Serves = -1, -1, true, w == e.mail.server
		}
		list = append(list, b)
	}
	return list
}
