package collectives

import (
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Explain returns one line of text: which algorithm the blocking form of an operation ("allreduce",
// "bcast", ...) on c would use, and why. The argument bytes is the length of a contribution or block.
// For reductions Explain assumes a commutative operator and elements of one byte. Explain does not communicate. Any
// goroutine may call it at any time.
func Explain(c *runtime.Comm, op string, bytes int) string {
	g, _, err := find(c)
	if err != nil {
		return err.Error()
	}
	i, names := operationOf(op)
	if i == message.Operations {
		return fmt.Sprintf("no operation %q; there are %s", op, strings.Join(names, ", "))
	}
	s := g.assumed(i, bytes)
	where, crowd := "several nodes", "a processor each"
	if s.near {
		where = "one node"
	}
	if s.crowded {
		crowd = "more ranks than processors"
	}
	tuned := g.table.Load()
	r := choose(&s, g.override[i], tuned)
	why := r.why
	switch asked := g.override[i]; asked {
	case automatic:
		if tuned != nil && tuned.choice(&s) == r.name {
			why = "the fastest in the table that was measured"
		}
	case r.name:
		why = "asked for by GORUN_COLL"
	default:
		why += fmt.Sprintf("; %v, named by GORUN_COLL, cannot serve this call", asked)
	}
	return fmt.Sprintf("%s of %d bytes, %d ranks on %s, %s: %v (%s)", op, bytes, s.ranks, where, crowd, r.name, why)
}

// assumed returns the situation (see choose) of an operation of which only the length is known.
func (g *group) assumed(op message.Operation, bytes int) situation {
	return g.situation(&call{op: op, block: bytes, Call: message.Call{Reduction: message.Reduction{Elem: 1, Commutative: true}}})
}
