// Package gorun_test checks properties of the source tree itself. Among these are the imports of packages,
// the places of unsafe and cgo, the lengths of files and functions, and the comments of packages. Except
// TestAPI, which reads a package for linux/amd64, the tests read the sources of every build variant. They
// need no tool but git, without which TestNoExecutables is skipped.
package gorun_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/gorun-hpc/gorun"
	// functionLinesMax and fileLinesMax are the largest numbers of lines of a function and of a file. The
	// functions of tests may be longer, because they contain tables and transcripts.
	functionLinesMax     = 70
	testFunctionLinesMax = 110
	fileLinesMax         = 400
)

// vague matches names that do not describe a file or a type.
var vague = regexp.MustCompile(`(?i)^(utils?|helpers?|managers?|common|misc)$|(Manager|Helper|Util|Utils)$`)

// unwanted matches texts that the tree may not contain: notes of an author to himself, and paths of one
// machine. The patterns are written so that they do not match themselves.
var unwanted = regexp.MustCompile(`\b(TO[D]O|FIX[M]E|X[X]X)\b|(^|[\s"'=(])/(wor[k]|roo[t]|hom[e])/|://proxy[.]|artifactor[y]|//registr[y][.]`)

// source is one Go file.
type source struct {
	path   string
	dir    string
	text   []byte
	files  *token.FileSet
	syntax *ast.File
}

// isTest reports whether the file is compiled for tests only.
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// line returns the line number of a position.
func (s *source) line(p token.Pos) int { return s.files.Position(p).Line }

// imported returns the import paths of the file.
func (s *source) imported(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, spec := range s.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// walk calls visit with every regular file of the tree, except those in .git and bin.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || name == "bin") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			visit(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the text of a file of the tree.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sources returns every Go file of the tree, testdata included.
func sources(t *testing.T) []*source {
	t.Helper()
	var all []*source
	walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		text := []byte(read(t, name))
		files := token.NewFileSet()
		syntax, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		all = append(all, &source{path: name, dir: path.Dir(name), text: text, files: files, syntax: syntax})
	})
	if len(all) < 10 {
		t.Fatalf("only %d Go files found", len(all))
	}
	return all
}

func TestUnsafeAndCgoAreConfined(t *testing.T) {
	for _, s := range sources(t) {
		for _, imp := range s.imported(t) {
			if imp == "unsafe" && !strings.HasSuffix(s.path, "_unsafe.go") && !s.isTest() {
				t.Errorf("%s imports unsafe; move it to a file named *_unsafe.go", s.path)
			}
			if imp == "C" && !slices.Contains(cgoPackages, s.dir) {
				t.Errorf("%s: cgo is confined to %v", s.path, cgoPackages)
			}
		}
	}
}

func TestFormat(t *testing.T) {
	for _, s := range sources(t) {
		if got, err := format.Source(s.text); err != nil || !bytes.Equal(got, s.text) {
			t.Errorf("%s: not formatted by gofmt (%v)", s.path, err)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	type description struct {
		files int
		in    string // the name of the file with the package comment
		words int
	}
	packages := map[string]*description{}
	for _, s := range sources(t) {
		if s.isTest() || strings.Contains(s.dir, "testdata") {
			continue
		}
		p := packages[s.dir]
		if p == nil {
			p = &description{}
			packages[s.dir] = p
		}
		p.files++
		if words := len(strings.Fields(s.syntax.Doc.Text())); words > 0 {
			p.in, p.words = path.Base(s.path), words
		}
	}
	for dir, p := range packages {
		if p.words < 5 {
			t.Errorf("%s: no package comment of at least five words", dir)
		}
		if p.files > 1 && p.in != "doc.go" && p.in != "main.go" {
			t.Errorf("%s: the package comment belongs into doc.go", dir)
		}
	}
}

func TestLengths(t *testing.T) {
	for _, s := range sources(t) {
		functionMax := functionLinesMax
		if s.isTest() {
			functionMax = testFunctionLinesMax
		}
		if n := bytes.Count(s.text, []byte("\n")); n > fileLinesMax {
			t.Errorf("%s: %d lines; at most %d", s.path, n, fileLinesMax)
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > functionMax {
				t.Errorf("%s:%d: %s has %d lines; at most %d", s.path, s.line(f.Pos()), f.Name.Name, n, functionMax)
			}
		}
	}
}

func TestNamesAreNouns(t *testing.T) {
	for _, s := range sources(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
		if vague.MatchString(base) || vague.MatchString(path.Base(s.dir)) {
			t.Errorf("%s: name the file after what it holds", s.path)
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && vague.MatchString(spec.Name.Name) {
				t.Errorf("%s:%d: name the type %s after what it is", s.path, s.line(spec.Pos()), spec.Name.Name)
			}
			return true
		})
	}
}

// TestText checks that no text file contains a text that unwanted matches. It reads the files whose extension
// is in kinds.
func TestText(t *testing.T) {
	kinds := []string{".go", ".s", ".c", ".h", ".md", ".yml", ".yaml", ".sh", ".mod", ".json", ".txt", ""}
	walk(t, func(name string) {
		if !slices.Contains(kinds, path.Ext(name)) {
			return
		}
		text := read(t, name)
		if strings.Contains(text, "\x00") {
			return // a binary file
		}
		for i, line := range strings.Split(text, "\n") {
			if found := unwanted.FindString(line); found != "" {
				t.Errorf("%s:%d: %q has no place in the tree", name, i+1, strings.TrimSpace(found))
			}
		}
	})
}

// Executables are not in the repository. A go build in the directory of a command leaves an executable
// there, which git add would take.
func TestNoExecutables(t *testing.T) {
	names, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err == nil && bytes.HasPrefix(text, []byte("\x7fELF")) {
			t.Errorf("%s is an executable", name)
		}
	}
}
