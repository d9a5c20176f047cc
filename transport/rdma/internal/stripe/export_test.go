package stripe

import (
	"fmt"
	"slices"
)

// String returns the state, for tests that search all states.
func (t *Transfer) String() string {
	return fmt.Sprint(t.put, t.size, t.next, t.again, t.held, t.lists)
}

// String returns the state.
func (l *Line) String() string { return fmt.Sprint(l.state, l.id) }

// Clone copies a transfer and its lists.
func (t *Transfer) Clone() Transfer {
	c := *t
	c.again, c.held = slices.Clone(t.again), slices.Clone(t.held)
	for i := range c.lists {
		c.lists[i].parts = slices.Clone(t.lists[i].parts)
	}
	return c
}

// Up reports whether the connection carries parts.
func (l *Line) Up() bool { return l.state == lineUp }

// Asked reports whether a side connection was requested and is not established yet.
func (l *Line) Asked() bool { return l.state == lineAsked }
