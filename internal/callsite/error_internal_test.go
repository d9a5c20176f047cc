package callsite

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestModulesWithoutADot checks that functions of a program whose module path has no dot, as in "module heat", are not
// taken for functions of the standard library.
func TestModulesWithoutADot(t *testing.T) {
	defer func(modules func() []string) { dotless = modules }(dotless)
	dotless = func() []string { return []string{"heat", "lib/flow"} }
	for function, want := range map[string]string{
		"heat/solver.Step": "solver.go:3 (solver.Step)", "heat.(*Grid).Step": "solver.go:3 (heat.(*Grid).Step)", "lib/flow.Step": "solver.go:3 (flow.Step)",
		"main.main": "solver.go:3 (main.main)", "heater/solver.Step": "", "lib/other.Step": "", "net/http.Get": "", "time.Sleep": "",
	} {
		require.Equal(t, want, Program(goruntime.Frame{Function: function, File: "/src/solver.go", Line: 3}), function)
	}
}
