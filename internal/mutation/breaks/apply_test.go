package breaks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/mutation/breaks"
)

func TestApply(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "p"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "p", "q.go"), []byte("package p\n\nvar a, b = 1, 2\n\nfunc f() {\n\ta++\n\tb++\n\ta++\n}\n"), 0o600))
	for _, c := range []struct{ change, want, fails string }{
		{change: "-var a, b = 1, 2\n+var a, b = 2, 2\n", want: "package p\n\nvar a, b = 2, 2\n\nfunc f() {\n\ta++\n\tb++\n\ta++\n}\n"},
		{change: "-\tb++\n \ta++\n", want: "package p\n\nvar a, b = 1, 2\n\nfunc f() {\n\ta++\n\ta++\n}\n"},
		{change: "-package p\n+package q\n", want: "package q\n\nvar a, b = 1, 2\n\nfunc f() {\n\ta++\n\tb++\n\ta++\n}\n"},
		{change: "-\tb++\nq.go\n+\tb--\n \ta++\n }\n", want: "package p\n\nvar a, b = 1, 2\n\nfunc f() {\n\ta++\n\tb--\n\ta++\n}\n"},
		{change: "-\ta++\n", fails: "2 times"},
		{change: "-b++\n", fails: "0 times"},
		{change: "-\tb++\n-\tb++\n", fails: "0 times"},
		{change: "-\tb++\n+\tb++ {\n", fails: "expected"},
		{change: "-\tb++\nq.go\n-\tb++\n", fails: "0 times"},
		{change: "-\tb++\nnone.go\n-x\n", fails: "no such file"},
	} {
		all, err := breaks.Parse("p", "# name\nq.go\n"+c.change)
		require.NoError(t, err)
		files, err := all[0].Apply(root)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails, c.change)
			require.ErrorContains(t, err, "internal/mutation/breaks/p.txt:", c.change)
			continue
		}
		require.NoError(t, err, c.change)
		require.Equal(t, map[string]string{"p/q.go": c.want}, files, c.change)
	}
}
