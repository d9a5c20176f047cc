package stripe

import (
	"fmt"
	"slices"
)

// String is the state, for tests that search all of them.
func (t *Transfer) String() string {
	return fmt.Sprint(t.put, t.size, t.next, t.again, t.held, t.lists)
}

// String is the state.
func (l *Line) String() string { return fmt.Sprint(l.state, l.id) }

// Clone copies a transfer with its lists.
func (t *Transfer) Clone() Transfer {
	c := *t
	c.again, c.held = slices.Clone(t.again), slices.Clone(t.held)
	for i := range c.lists {
		c.lists[i].parts = slices.Clone(t.lists[i].parts)
	}
	return c
}

// Asked reports whether a connection was asked for.
func (l *Line) Asked() bool { return l.state == lineAsked }
