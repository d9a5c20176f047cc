package collectives

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/runtime"
)

// valueUse records the operation with values that a goroutine of this rank executes on one
// communicator. Such an operation has several steps: messages of values, or collective operations.
// Operations of another goroutine must not run between the steps. So the goroutine of the operation owns the
// group (see group.busy) from the beginning of the operation to its end.
type valueUse struct {
	mu   sync.Mutex // guards the fields below
	op   string     // "" if no operation is in progress
	site callsite.Site
}

// beginValues begins an operation with values. If it returns a group and no error, the caller must
// call endValues. It returns an error if the communicator or the root is not valid. If another
// goroutine of the rank is in a blocking operation or in an operation with values on c, the error is ErrInUse.
// beginValues then breaks the communicator, because the members could not distinguish the messages of the two
// operations.
func beginValues(c *runtime.Comm, op string, root int) (*group, error) {
	g, _, err := find(c)
	if err == nil && (root < 0 || root >= c.Size()) {
		err = rootError(root, c.Size())
	}
	if err == nil {
		err = g.claimValues(op)
	}
	if err != nil {
		return nil, callsite.At(fmt.Errorf("%s: %w", op, err))
	}
	return g, nil
}

// claimValues makes this goroutine the owner of the group for an operation with values. If another goroutine is the
// owner, it returns an error and breaks the communicator.
func (g *group) claimValues(op string) error {
	var here callsite.Site
	here.Note()
	u := &g.values
	u.mu.Lock()
	claimed := atomic.CompareAndSwapUint32(&g.busy, 0, busyValues)
	if claimed {
		u.op, u.site = op, here
	}
	u.mu.Unlock()
	if !claimed {
		return g.occupied(op)
	}
	return nil
}

// endValues ends the operation with values.
func (g *group) endValues() {
	g.values.mu.Lock()
	defer g.values.mu.Unlock()
	g.values.op = ""
	processor.Store32(&g.busy, 0)
}

// current returns the operation with values in progress and its source line, or "" if there is none.
func (u *valueUse) current() (op, line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.op == "" {
		return "", ""
	}
	return u.op, u.site.Line(packagePath)
}

// step executes the call as a step of an operation with values. The goroutine of that operation owns the group already.
func (k *call) step() error {
	k.free = busyValues
	return k.wait()
}
