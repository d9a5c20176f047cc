package flight

import (
	"fmt"
	"strings"
	"time"
)

// Line formats the operation in one line, as in "receive from rank 3, tag 7, 8 bytes, world: waiting for 2s,
// at a.go:5 (main.f), called at a.go:9 (main.main)". The time in the line is the time since the operation
// entered its state.
func (o Operation) Line(now time.Time) string {
	var b strings.Builder
	b.WriteString(o.Op)
	switch {
	case o.Peer < 0:
	case strings.HasPrefix(o.Op, "receive") || o.Op == "probe":
		fmt.Fprintf(&b, " from rank %d", o.Peer)
	case o.Message:
		fmt.Fprintf(&b, " to rank %d", o.Peer)
	default:
		fmt.Fprintf(&b, ", root rank %d", o.Peer)
	}
	switch {
	case !o.Message:
		fmt.Fprintf(&b, ", call %d", o.Tag)
	case o.Tag < 0:
		b.WriteString(", any tag")
	default:
		fmt.Fprintf(&b, ", tag %d", o.Tag)
	}
	name := "world"
	if o.Communicator != 0 {
		name = fmt.Sprintf("communicator %d", o.Communicator)
	}
	fmt.Fprintf(&b, ", %d bytes, %s: %v for %v", o.Bytes, name, o.State, now.Sub(o.Changed).Round(time.Millisecond))
	if o.Site != "" {
		b.WriteString(", at " + o.Site)
	}
	if o.Caller != "" {
		b.WriteString(", called at " + o.Caller)
	}
	return b.String()
}
