package gorun_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// behavioursPage lists behaviours of message passing, the files of other test suites that test
// each behaviour, and the tests of this tree that prove it.
const behavioursPage = "docs/behaviours.md"

var (
	// behaviourRow matches a row of a table of the page: behaviour, origin, test.
	behaviourRow = regexp.MustCompile(`^\| ([^|]+) \| ([a-z0-9]+(?:/[a-z0-9_-]+)+\.c) \| ([\w/]+)\.(Test\w+) \|$`)
	// origin matches the name of a file of MPICH's or ULFM's test suite in a comment.
	origin = regexp.MustCompile(`\b(?:pt2pt|comm|group|coll|datatype|init|ft|threads|topo|api|stress)/[a-z0-9_/-]+\.c\b`)
)

// byWay is the heading of a part of the page. For each behaviour and each way to run a job, the tables of
// this part name a test.
const byWay = "\n## By way\n"

// wayTest and wayNone match a cell of a table below the heading byWay. A cell contains a test with its
// subtests, or "none" with the letter of a reason. wayReason matches a reason below the tables.
var (
	wayTest   = regexp.MustCompile(`^([\w/]+)\.(Test\w+)((?:/[^/*]+)*?)( \*)?$`)
	wayNone   = regexp.MustCompile(`^none \(([a-z])\)$`)
	wayReason = regexp.MustCompile(`(?m)^\* \(([a-z])\) `)
)

// waysTotal is the number of ways to run a job: the simulator, one process, and gorun over shared
// memory, over the network and on several hosts.
const waysTotal = 5

// testComments returns the comment of every test of the module. The keys have the form
// "package.Test".
func testComments(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				comments[s.dir+"."+f.Name.Name] = f.Doc.Text()
			}
		}
	}
	return comments
}

// TestBehavioursAreProved checks that every behaviour of the page has a test whose comment names the origin
// of the behaviour. It also checks that the page lists every origin that the comment of a test names.
func TestBehavioursAreProved(t *testing.T) {
	comments, listed, rows := testComments(t), map[string]bool{}, 0
	before, _, _ := strings.Cut(read(t, behavioursPage), byWay)
	for i, line := range strings.Split(before, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| behaviour ") {
			continue
		}
		row := behaviourRow.FindStringSubmatch(line)
		if row == nil {
			t.Errorf("%s:%d: want | behaviour | origin | package.Test |", behavioursPage, i+1)
			continue
		}
		rows++
		from, test := row[2], row[3]+"."+row[4]
		listed[from+" "+test] = true
		comment, ok := comments[test]
		switch {
		case !ok:
			t.Errorf("%s:%d: there is no test %s", behavioursPage, i+1, test)
		case !strings.Contains(comment, from):
			t.Errorf("%s:%d: the comment of %s does not name %s", behavioursPage, i+1, test, from)
		}
	}
	if rows == 0 {
		t.Errorf("%s: no behaviours", behavioursPage)
	}
	for test, comment := range comments {
		for _, from := range origin.FindAllString(comment, -1) {
			if !listed[from+" "+test] {
				t.Errorf("%s: it has no row for %s, which %s names", behavioursPage, from, test)
			}
		}
	}
}

// TestBehavioursByWay checks every cell of the tables by way. A cell must name
// either a test, or a reason that the page explains. The test must exist, and the names of its subtests must
// occur as strings in the source of the tests.
func TestBehavioursByWay(t *testing.T) {
	_, part, _ := strings.Cut(read(t, behavioursPage), byWay)
	part, _, _ = strings.Cut(part, "\n## ")
	reasons, used := map[string]bool{}, map[string]bool{}
	for _, m := range wayReason.FindAllStringSubmatch(part, -1) {
		reasons[m[1]] = true
	}
	comments, named, rows := testComments(t), stringsOfTests(t), 0
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| behaviour ") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != waysTotal+1 {
			t.Errorf("%q has %d cells", line, len(cells))
			continue
		}
		for _, cell := range cells[1:] {
			none, test := wayNone.FindStringSubmatch(cell), wayTest.FindStringSubmatch(cell)
			switch {
			case none != nil && reasons[none[1]]:
				used[none[1]] = true
			case test == nil:
				t.Errorf("%q is neither a test nor a reason of the page", cell)
			default:
				if _, ok := comments[test[1]+"."+test[2]]; !ok {
					t.Errorf("there is no test %s.%s", test[1], test[2])
				}
				for _, word := range strings.FieldsFunc(test[3], func(r rune) bool { return r == '/' }) {
					if !named(word) {
						t.Errorf("no test has a part %q: %s", word, cell)
					}
				}
			}
		}
	}
	if rows == 0 || len(used) != len(reasons) {
		t.Errorf("%d rows, %d of %d reasons are used", rows, len(used), len(reasons))
	}
}

// stringsOfTests returns a function that reports whether a text is a string in a test or in
// internal/simulate. The function also accepts a text that consists of such a string, an optional comma, a space, and
// auto or rdma, because some tests append the name of the transport to the name of a subtest.
func stringsOfTests(t *testing.T) func(text string) bool {
	t.Helper()
	all := map[string]bool{}
	for _, s := range sources(t) {
		if !s.isTest() && !strings.HasPrefix(s.dir, "internal/simulate") {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value)
				all[strings.Trim(text, "/ ")] = true
			}
			return true
		})
	}
	return func(text string) bool {
		for _, way := range []string{" auto", " rdma"} {
			if before, ok := strings.CutSuffix(text, way); ok && all[strings.TrimSuffix(before, ",")] {
				return true
			}
		}
		return all[text]
	}
}
