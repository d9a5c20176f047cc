package collectives

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// valueUse records the operation with values that a goroutine of this rank executes on one
// communicator. Such an operation has several steps: messages of values, or collective operations.
// Operations of another goroutine must not run between the steps.
type valueUse struct {
	mu   sync.Mutex // guards the fields below
	op   string     // "" if no operation is in progress
	site callsite.Site
}

// beginValues begins an operation with values. If it returns a group g and no error, the caller must
// call g.values.end. It returns an error if the communicator or the root is not valid. If another
// goroutine of the rank is in an operation with values on c, the error is ErrInUse. beginValues then
// breaks the communicator, because the members could not distinguish the messages of the two
// operations.
func beginValues(c *runtime.Comm, op string, root int) (*group, error) {
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
	return g, nil
}

// begin records the operation. If another operation is in progress, it returns an error.
func (u *valueUse) begin(op string, here *callsite.Site) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.op != "" {
		return inUse(op, here, u.op, u.site.Line(packagePath))
	}
	u.op, u.site = op, *here
	return nil
}

// inUse returns the error of the operation op while the recorded operation is in progress. The argument
// here is the call site of op.
func (u *valueUse) inUse(op string, here *callsite.Site) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return inUse(op, here, u.op, u.site.Line(packagePath))
}

// end records that the operation has ended.
func (u *valueUse) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.op = ""
}
