package collectives

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// valueUse records the operation with values that a goroutine of this rank executes on one communicator.
// Such an operation consists of several operations, which those of another goroutine must not
// interleave with.
type valueUse struct {
	mu   sync.Mutex // guards the fields below
	op   string     // "" if no operation is in progress
	site callsite.Site
}

// beginValues begins an operation with values, and returns an error for a communicator or root that is
// not valid. If it returns no error, the caller must call end. If another goroutine of the rank is in
// an operation with values on c, the error is ErrInUse, and the communicator is broken: the members
// could not tell the messages of the two operations apart.
func beginValues(c *runtime.Comm, op string, root int) (*valueUse, error) {
	g, _, err := find(c)
	if err != nil {
		return nil, callsite.At(fmt.Errorf("%s: %w", op, err))
	}
	if root < 0 || root >= c.Size() {
		return nil, callsite.At(fmt.Errorf("%s: %w", op, rootError(root, c.Size())))
	}
	var here callsite.Site
	here.Note()
	if err := g.values.begin(op, &here); err != nil {
		c.Break(err)
		return nil, err
	}
	return &g.values, nil
}

// begin records the operation, unless one is in progress.
func (u *valueUse) begin(op string, here *callsite.Site) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.op != "" {
		return fmt.Errorf("%w: %s at %s while another goroutine is in %s at %s: use a communicator per goroutine, see Dup",
			runtime.ErrInUse, op, here.Line(packagePath), u.op, u.site.Line(packagePath))
	}
	u.op, u.site = op, *here
	return nil
}

// end records that the operation has ended.
func (u *valueUse) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.op = ""
}
