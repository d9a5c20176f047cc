package collectives

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/runtime"
)

// choices records for gorun -explain which algorithms a rank has used in its communicators. It is an attribute of
// World.Comm. It does not record the choices of a communicator that is first used after World.Comm was broken or
// closed.
type choices struct {
	mu  sync.Mutex
	all map[*rule]choice
}

// choice has the number and the lengths of the operations that have used one rule (an algorithm
// with its conditions).
type choice struct {
	least, most int // the shortest and the longest length, in bytes
	times       int // the number of operations
}

var _ runtime.Explainer = (*choices)(nil)

// choicesKey is the key of the attribute.
type choicesKey struct{}

// choicesOf returns the choices of a communicator's World, or nil without gorun -explain. It also returns nil if
// World.Comm is broken or closed. Operations on other communicators, such as the result of Shrink, go on in this case.
func choicesOf(c *runtime.Comm) (*choices, error) {
	if asked, err := toggled("GORUN_EXPLAIN", false); err != nil || !asked {
		return nil, err
	}
	v, _ := c.World().Comm().Attribute(choicesKey{}, func() (any, error) { return &choices{all: make(map[*rule]choice)}, nil })
	noted, _ := v.(*choices)
	return noted, nil
}

// note records that an operation in situation s (see choose) has used rule r.
func (l *choices) note(s *situation, r *rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, known := l.all[r]
	if !known {
		c.least = s.bytes
	}
	c.least, c.most, c.times = min(c.least, s.bytes), max(c.most, s.bytes), c.times+1
	l.all[r] = c
}

// Explain implements runtime.Explainer. It returns a line for each rule that operations have used, in
// the order of the rules in table.
func (l *choices) Explain() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for i := range table {
		r := &table[i]
		c, taken := l.all[r]
		if !taken {
			continue
		}
		bytes := fmt.Sprint(c.most)
		if c.least < c.most {
			bytes = fmt.Sprintf("%d to %d", c.least, c.most)
		}
		lines = append(lines, fmt.Sprintf("collectives: %d x %v of %s bytes: %v (%s)", c.times, r.op, bytes, r.name, r.why))
	}
	return lines
}
