package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzStat checks that no content of /proc/PID/stat makes statParent panic, and that the process
// name does not influence the result.
func FuzzStat(f *testing.F) {
	const rest = " 42 42 0 -1 4194560 1 0 0 0 0 0"
	for _, name := range []string{"sh", "a b", ") Z 1 (", "", "\n)", "x) R 7"} {
		f.Add(name, "S", " 41"+rest)
	}
	whole := " 41" + rest
	for n := range whole {
		f.Add("sh", "S", whole[:n])
	}
	f.Add("sh", "Z", whole)
	f.Fuzz(func(t *testing.T, name, state, rest string) {
		parent, alive := statParent([]byte("42 (" + name + ") " + state + rest))
		if !alive {
			require.Zero(t, parent)
		}
		// The name has no influence on the result, for any characters in it.
		if !strings.Contains(state+rest, ")") {
			other, same := statParent([]byte("42 (sh) " + state + rest))
			require.Equal(t, []any{parent, alive}, []any{other, same})
		}
	})
}

// statParent returns the parent of a process and whether the process is alive, even if the name of the
// process has parentheses.
func TestParentOfAProcess(t *testing.T) {
	for state, alive := range map[string]bool{"R": true, "S": true, "D": true, "T": true, "t": true, "Z": false, "X": false} {
		parent, ok := statParent(fmt.Appendf(nil, "42 (a) (b) Z 1) %s 41 42 42 0 -1", state))
		require.Equal(t, alive, ok, state)
		if alive {
			require.Equal(t, 41, parent)
		}
	}
}
