package collectives

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/runtime"
)

// Explain says in one line which algorithm an operation ("allreduce", "bcast",
// ...) would take on c for contributions or blocks of this many bytes, and why.
// For reductions it assumes a commutative operator. It sends nothing.
func Explain(c *runtime.Comm, op string, bytes int) string {
	g, _, err := find(c)
	if err != nil {
		return err.Error()
	}
	i := slices.Index(operationNames[:], op)
	if i < 0 {
		return fmt.Sprintf("no operation %q; there are %s", op, strings.Join(operationNames[:], ", "))
	}
	s := g.situation(operation(i), bytes, 1, true)
	where, crowd := "several nodes", "a processor each"
	if s.near {
		where = "one node"
	}
	if s.crowded {
		crowd = "more ranks than processors"
	}
	r := choose(&s, g.override[i])
	why := r.why
	switch asked := g.override[i]; asked {
	case automatic:
	case r.alg:
		why = "asked for by GORUN_COLL"
	default:
		why += fmt.Sprintf("; %v, asked for by GORUN_COLL, cannot serve this", asked)
	}
	return fmt.Sprintf("%s of %d bytes, %d ranks on %s, %s: %v (%s)", op, bytes, s.ranks, where, crowd, r.alg, why)
}
