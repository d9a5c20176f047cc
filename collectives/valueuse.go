package collectives

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// valueUse is the operation with values that a goroutine of this rank is in, on one communicator. It has
// several parts, between which those of another goroutine could come.
type valueUse struct {
	mu   sync.Mutex // guards what follows
	op   string     // "" for none
	site callsite.Site
}

// beginValues begins an operation with values, and refuses what no part of it may begin with. Unless
// it fails, end follows. A second goroutine of the rank is ErrInUse, which breaks the communicator: the
// parts of both go to the same members.
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

// begin notes the operation.
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

// end ends it.
func (u *valueUse) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.op = ""
}
