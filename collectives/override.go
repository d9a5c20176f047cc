package collectives

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// overrides holds for each operation the algorithm that GORUN_COLL demands, or automatic.
type overrides [message.Operations]string

// automatic means that GORUN_COLL demands no algorithm. In this case the Table (of GORUN_COLL_TABLE or
// Tune) or the built-in table chooses the algorithm.
const automatic = ""

// environment parses GORUN_COLL in its first call, and returns the same result in later calls.
var environment = sync.OnceValues(func() (overrides, error) { return parseOverrides(os.Getenv("GORUN_COLL")) })

// parseOverrides parses a list of items operation=algorithm, separated by commas.
func parseOverrides(list string) (o overrides, err error) {
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		name, want, found := strings.Cut(item, "=")
		if !found {
			return o, fmt.Errorf("%w: %q is not operation=algorithm", ErrOverride, item)
		}
		op, known := operationOf(strings.TrimSpace(name))
		if op == message.Operations {
			return o, fmt.Errorf("%w: no operation %q; there are %s", ErrOverride, name, strings.Join(known, ", "))
		}
		known = algorithmsOf(op)
		switch want = strings.TrimSpace(want); {
		case want == "auto":
			o[op] = automatic
		case slices.Contains(known, want):
			o[op] = want
		default:
			return o, fmt.Errorf("%w: no algorithm %q for %v; there are %s", ErrOverride, want, op, strings.Join(known, ", "))
		}
	}
	return o, nil
}

// operationOf returns the operation with a name, or message.Operations if no operation has this name.
// It also returns the names of all operations.
func operationOf(name string) (op message.Operation, names []string) {
	op = message.Operations
	for o := range message.Operations {
		if names = append(names, o.String()); o.String() == name {
			op = o
		}
	}
	return op, names
}

// algorithmsOf returns the names of the algorithms of an operation.
func algorithmsOf(op message.Operation) []string {
	var names []string
	for _, r := range table[first[op]:first[op+1]] {
		if !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	return names
}
