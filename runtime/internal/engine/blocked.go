package engine

import (
	"slices"
	"time"
)

// Blocked is an operation for which a goroutine has waited for some time.
type Blocked struct {
	// Op is what it does: "receive", "send", "probe", or the what of Await.
	Op string
	// Await says that it is a wait of Await. Peer and Tag are -1 then, and Context and Bytes
	// have no meaning. Serves says that it is a wait of Serve, for messages to actors.
	Await, Serves bool
	// Limited says that a context that is no [InnerContext] may end the wait; Several that it ends with any one of
	// several operations, of which this is one.
	Limited, Several bool
	// Peer is the destination or source, or AnySource; Tag may be AnyTag.
	Peer, Tag int
	Context   uint32
	// PC is the program counter that the caller gave.
	PC uintptr
	// Stack is where the goroutine called the engine, innermost frame first, if PC
	// is 0 and it has slept; for goruntime.CallersFrames.
	Stack []uintptr
	// Since is the time when the first polls had found nothing, about a microsecond after the
	// operation's start.
	Since time.Time
	// Bytes is the length of the caller's buffer.
	Bytes int
}

// Blocked lists the operations that goroutines wait for. Of WaitAny it shows one.
func (e *Engine) Blocked() []Blocked {
	e.lock()
	defer e.unlock()
	var list []Blocked
	for w := e.blocked.head; w != nil; w = w.next {
		b := Blocked{
			Op: w.op(), Peer: int(w.from.source), Tag: int(w.from.tag),
			Context: w.from.context, PC: w.pc, Since: w.since, Limited: w.limited, Several: w.several,
		}
		if w.depth > 0 {
			b.Stack = slices.Clone(w.stack[:w.depth])
		}
		if r := w.req; r != nil {
			b.Peer, b.Tag, b.Context = int(r.target.source), int(r.target.tag), r.target.context
			b.PC, b.Bytes = r.pc, len(r.buf)
		} else if w.done != nil || w.stream != nil {
			b.Peer, b.Tag, b.Await, b.Serves = -1, -1, true, w == e.mail.server
		}
		list = append(list, b)
	}
	return list
}
