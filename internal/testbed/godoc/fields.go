package godoc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// field matches a line of a code block that describes a field: its name and its type.
var field = regexp.MustCompile(`(?m)^\t(\w+) +([^ \n]+)( +//.*)?$`)

// Aliases checks the package in the working directory. It looks at the exported aliases for types of internal
// packages, because godoc does not show the fields of these types. It fails the test if the comment of an
// alias does not list exactly the exported fields of the type. types maps the name of each
// alias to a value of its type.
func Aliases(t *testing.T, types map[string]any) {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				if spec := s.(*ast.TypeSpec); spec.Assign.IsValid() && spec.Name.IsExported() && hidden(syntax, spec.Type) {
					found++
					compare(t, spec.Name.Name, types[spec.Name.Name], g.Doc.Text())
				}
			}
		}
	}
	if found != len(types) || found == 0 {
		t.Errorf("%d aliases found, %d known", found, len(types))
	}
}

// hidden reports whether a type in a file belongs to an internal package.
func hidden(file *ast.File, of ast.Expr) bool {
	name := ""
	ast.Inspect(of, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && name == "" {
			if x, ok := s.X.(*ast.Ident); ok {
				name = x.Name
			}
		}
		return name == ""
	})
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		at := strings.Trim(i.Path.Value, `"`)
		return name != "" && path.Base(at) == name && strings.Contains(at, "/internal/")
	})
}

// compare compares the fields in the comment of an alias with the exported fields of a value's type.
func compare(t *testing.T, name string, value any, comment string) {
	t.Helper()
	if value == nil {
		t.Errorf("types has no value for the alias %s", name)
		return
	}
	said := map[string]string{}
	for _, m := range field.FindAllStringSubmatch(comment, -1) {
		said[m[1]] = m[2]
	}
	of := reflect.TypeOf(value)
	for i := range of.NumField() {
		f := of.Field(i)
		if f.IsExported() && said[f.Name] != f.Type.String() {
			t.Errorf("%s: the comment gives %s the type %q, but it has the type %s", name, f.Name, said[f.Name], f.Type)
		}
		delete(said, f.Name)
	}
	if len(said) > 0 {
		t.Errorf("%s: the comment lists fields that the type does not have: %v", name, slices.Sorted(maps.Keys(said)))
	}
}
