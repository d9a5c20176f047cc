package collectives

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// overrides holds the algorithm that is asked for, or automatic, per operation.
type overrides [operations]algorithm

// environment reads GORUN_COLL once.
var environment = sync.OnceValues(func() (overrides, error) { return parseOverrides(os.Getenv("GORUN_COLL")) })

// parseOverrides reads a list of operation=algorithm separated by commas.
func parseOverrides(list string) (o overrides, err error) {
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		name, want, found := strings.Cut(item, "=")
		if !found {
			return o, fmt.Errorf("%w: %q is not operation=algorithm", ErrOverride, item)
		}
		op := slices.Index(operationNames[:], strings.TrimSpace(name))
		if op < 0 {
			return o, fmt.Errorf("%w: no operation %q; there are %s", ErrOverride, name, strings.Join(operationNames[:], ", "))
		}
		alg, known := algorithmOf(operation(op), strings.TrimSpace(want))
		if alg == automatic && want != automatic.String() {
			return o, fmt.Errorf("%w: no algorithm %q for %v; there are %s", ErrOverride, want, operation(op), strings.Join(known, ", "))
		}
		o[op] = alg
	}
	return o, nil
}

// algorithmOf returns the algorithm of an operation by its name, or automatic,
// and the names of all.
func algorithmOf(op operation, name string) (alg algorithm, names []string) {
	for _, r := range table[first[op]:first[op+1]] {
		if r.alg.String() == name {
			alg = r.alg
		}
		if !slices.Contains(names, r.alg.String()) {
			names = append(names, r.alg.String())
		}
	}
	return alg, names
}
