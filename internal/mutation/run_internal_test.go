package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture is a module with a package whose tests detect some of the breaks.
var fixture = map[string]string{
	"go.mod": "module fixture\n\ngo 1.26\n",
	"calc/calc.go": `package calc

func Add(a, b int) int {
	return a + b
}

func Sub(a, b int) int {
	return a - b
}
`,
	"calc/calc_test.go": `package calc

import "testing"

func TestOther(t *testing.T) {}

func TestAdd(t *testing.T) {
	t.Run("small", func(t *testing.T) {
		if Add(1, 2) != 3 {
			t.Fatal("wrong")
		}
	})
}

func TestLater(t *testing.T) { TestAdd(t) }
`,
	"internal/mutation/breaks/calc.txt": `# one too many
calc.go
-	return a + b
+	return a + b + 1

# wrong sign
calc.go
-	return a - b
+	return b - a

# no such name
calc.go
-	return a + b
+	return a + c

# no end
calc.go
-	return a + b
+	for {
+	}

# a panic
calc.go
-	return a + b
+	panic("broken")
`,
}

// module writes a module into a directory of its own.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

func TestRunTellsCaughtFromNotCaught(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("TMPDIR", t.TempDir())
	root := module(t, fixture)
	var out, errs bytes.Buffer
	require.Equal(t, 1, run(t.Context(), root, []string{"-timeout", "2s"}, &out, &errs), "%s", &errs)
	require.Empty(t, errs.String())
	for _, line := range []string{
		`caught +\d+\.\d s  TestAdd/small +one too many`,
		`NOT CAUGHT +\d+\.\d s +wrong sign`,
		`does not build +\d+\.\d s +no such name`,
		`timed out +\d+\.\d s  TestAdd/small +no end`,
		`caught +\d+\.\d s  TestAdd/small +a panic`,
		`calc +3 of +4 +75 %, 1 by the time limit, 1 more do not build`,
		`in all +3 of +4 +75 %`,
	} {
		require.Regexp(t, `(?m)^  `+line, out.String())
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "mutation-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	for name, text := range fixture {
		now, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, text, string(now), "the tree changed")
	}

	out.Reset()
	require.Zero(t, run(t.Context(), root, []string{"-only", "^one", "./calc/"}, &out, &errs), "%s", &out)
	require.Regexp(t, `in all +1 of +1 +100 %`, out.String())
	require.NotContains(t, out.String(), "wrong sign")
}

func TestRunWantsTestsThatPass(t *testing.T) {
	t.Setenv("GOWORK", "off")
	broken := map[string]string{}
	for name, text := range fixture {
		broken[name] = regexp.MustCompile(`return a \+ b\n`).ReplaceAllString(text, "return a\n")
	}
	var out, errs bytes.Buffer
	require.Equal(t, 1, run(t.Context(), module(t, broken), nil, &out, &errs))
	require.Contains(t, errs.String(), "fail without a break, TestAdd/small")
}

func TestRunRefuses(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, 2, run(t.Context(), t.TempDir(), []string{"-only", "("}, &out, &errs))
	require.Contains(t, errs.String(), "-only")
	errs.Reset()
	require.Equal(t, 1, run(t.Context(), t.TempDir(), []string{"nowhere"}, &out, &errs))
	require.Contains(t, errs.String(), "internal/mutation/breaks/nowhere.txt")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs.Reset()
	require.Equal(t, 1, run(ctx, module(t, fixture), nil, &out, &errs))
	require.Contains(t, errs.String(), "context canceled")
}
