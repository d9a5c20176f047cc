package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryLockIsGivenUpByADefer checks the rule of guard.go: a function that takes the lock
// defers its release in the next statement, and no other code uses mu.
func TestEveryLockIsGivenUpByADefer(t *testing.T) {
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, ".", func(f fs.FileInfo) bool { //nolint:staticcheck // build tags are of no interest here
		return !strings.HasSuffix(f.Name(), "_test.go") && !strings.HasPrefix(f.Name(), "lock")
	}, parser.SkipObjectResolution)
	require.NoError(t, err)
	entries := 0
	for name, file := range packages["engine"].Files {
		if name == "guard.go" {
			continue
		}
		allowed := map[*ast.CallExpr]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				for i, s := range n.List[:max(len(n.List)-1, 0)] {
					lock := callOf(s, "lock")
					if d, ok := n.List[i+1].(*ast.DeferStmt); ok && lock != nil && called(d.Call) == "unlock" {
						allowed[lock], allowed[d.Call] = true, true
						entries++
					}
				}
			case *ast.DeferStmt:
				if called(n.Call) == "stepIn" && len(n.Call.Args) == 1 {
					if out, ok := n.Call.Args[0].(*ast.CallExpr); ok && called(out) == "stepOut" {
						allowed[n.Call], allowed[out] = true, true
					}
				}
			case *ast.CallExpr:
				switch what := called(n); what {
				case "lock", "unlock", "stepIn", "stepOut", "wreck":
					require.True(t, allowed[n], "%s: %s is not in the form of guard.go", files.Position(n.Pos()), what)
				}
			case *ast.SelectorExpr:
				require.NotEqual(t, "mu", n.Sel.Name, "%s", files.Position(n.Pos()))
			}
			return true
		})
	}
	require.Greater(t, entries, 30)
}

// callOf returns the call of a statement that only calls a method with this name.
func callOf(s ast.Stmt, name string) *ast.CallExpr {
	x, ok := s.(*ast.ExprStmt)
	if !ok {
		return nil
	}
	if c, ok := x.X.(*ast.CallExpr); ok && called(c) == name {
		return c
	}
	return nil
}

// called returns the name of the method that the call c names.
func called(c *ast.CallExpr) string {
	if s, ok := c.Fun.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}
