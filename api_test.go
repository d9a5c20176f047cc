package gorun_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/api anew")

// stable lists the packages whose exported API changes only with a new major version.
var stable = []string{"runtime", "runtime/actors", "collectives"}

// unstable is a line of the package comment of every importable package that stable does not
// list.
const unstable = "Unstable: any release may change this package, also after v1."

// TestAPI compares the exported API with the files in testdata/api. A change of the API must change these
// files, so that a reviewer sees it.
func TestAPI(t *testing.T) {
	for _, dir := range stable {
		got := exported(t, dir)
		name := filepath.Join("testdata", "api", strings.ReplaceAll(dir, "/", "_")+".txt")
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := read(t, name)
		if got == want {
			continue
		}
		old, now := strings.Split(want, "\n"), strings.Split(got, "\n")
		for _, line := range old {
			if !slices.Contains(now, line) {
				t.Errorf("%s: gone: %s", dir, line)
			}
		}
		for _, line := range now {
			if !slices.Contains(old, line) {
				t.Errorf("%s: new: %s", dir, line)
			}
		}
		t.Errorf("the API of %s is not that of %s: if the change is wanted, `go test -run TestAPI . -update`", dir, name)
	}
}

// exported returns the exported API of a package of this tree on Linux. The declarations are sorted. Each
// declaration begins on a new line, and its further lines are indented.
func exported(t *testing.T, dir string) string {
	t.Helper()
	files, p := documented(t, dir)
	var all []string
	add := func(prefix string, node any) {
		var b bytes.Buffer
		if err := (&printer.Config{Mode: printer.RawFormat, Tabwidth: 8}).Fprint(&b, files, node); err != nil {
			t.Fatal(err)
		}
		all = append(all, prefix+b.String())
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, spec := range v.Decl.Specs {
				add(v.Decl.Tok.String()+" ", spec)
			}
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			add("", f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, typ := range p.Types {
		values(typ.Consts)
		values(typ.Vars)
		functions(typ.Funcs)
		functions(typ.Methods)
		for _, spec := range typ.Decl.Specs {
			add("type ", spec)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n") + "\n"
}

// documented parses the files that a package has for linux/amd64, without their comments, and returns the
// declarations of the package as package go/doc arranges them.
func documented(t *testing.T, dir string) (*token.FileSet, *doc.Package) {
	t.Helper()
	context := build.Default
	context.GOOS, context.GOARCH, context.BuildTags = "linux", "amd64", nil
	found, err := context.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range found.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(files, parsed, module+"/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	return files, p
}

// TestPackagesSayWhetherTheyAreStable checks that each importable package is listed in stable, or has the
// line unstable in its package comment. The test finds a package that became importable by mistake.
func TestPackagesSayWhetherTheyAreStable(t *testing.T) {
	says := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() || s.syntax.Name.Name == "main" || strings.Contains("/"+s.dir+"/", "/internal/") || strings.Contains(s.dir, "testdata") || s.dir == ".ci" {
			continue
		}
		says[s.dir] = says[s.dir] || strings.Contains(s.syntax.Doc.Text(), unstable)
	}
	for dir, said := range says {
		if said == slices.Contains(stable, dir) {
			t.Errorf("%s: a package is either in the list of stable ones or its comment says %q", dir, unstable)
		}
	}
	for _, dir := range stable {
		if _, ok := says[dir]; !ok {
			t.Errorf("%s is not there", dir)
		}
	}
}

// TestLibrariesAreToldApart compares the exported names in the files library*.go of package
// runtime with the section "For libraries" of its package comment.
func TestLibrariesAreToldApart(t *testing.T) {
	var section string
	names := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir != "runtime" || s.isTest() {
			continue
		}
		if _, after, ok := strings.Cut(s.syntax.Doc.Text(), "# For libraries"); ok {
			section, _, _ = strings.Cut(after, "\n# ")
		}
		if !strings.HasPrefix(filepath.Base(s.path), "library") {
			continue
		}
		for _, d := range s.syntax.Decls {
			for _, name := range declared(d) {
				names[name] = true
			}
		}
	}
	for name := range names {
		if !strings.Contains(section, "["+name+"]") {
			t.Errorf("the package comment of runtime does not list %s among what libraries use", name)
		}
	}
	if listed := strings.Count(section, "["); listed != len(names) {
		t.Errorf("the package comment of runtime lists %d names for libraries, there are %d: %v", listed, len(names), names)
	}
}

// declared returns the exported names of a declaration. A method of Comm is named Comm.Method. The methods of
// other types are left out, because the list names their types.
func declared(d ast.Decl) []string {
	var all []string
	add := func(prefix string, id *ast.Ident) {
		if id.IsExported() {
			all = append(all, prefix+id.Name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add("", d.Name)
		} else if on, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok && on.X.(*ast.Ident).Name == "Comm" {
			add("Comm.", d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add("", spec.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					add("", id)
				}
			default:
			}
		}
	default:
	}
	return all
}
