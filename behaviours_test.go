package gorun_test

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// behavioursPage lists behaviours, the files of other suites that test them, and the
// tests that prove them here.
const behavioursPage = "docs/behaviours.md"

var (
	// behaviourRow is a row of a table there: behaviour, origin, test.
	behaviourRow = regexp.MustCompile(`^\| ([^|]+) \| ([a-z0-9]+(?:/[a-z0-9_-]+)+\.c) \| ([\w/]+)\.(Test\w+) \|$`)
	// origin is a file of MPICH's suite, or of ULFM's, in a comment.
	origin = regexp.MustCompile(`\b(?:pt2pt|comm|group|coll|datatype|init|ft|threads|topo|api|stress)/[a-z0-9_/-]+\.c\b`)
)

// testComments returns the comment of every test of the module by "package.Test".
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

// Every behaviour of the page has a test whose comment names the origin, and every
// origin that a test names is on the page.
func TestBehavioursAreProved(t *testing.T) {
	page, err := os.ReadFile(behavioursPage)
	if err != nil {
		t.Fatal(err)
	}
	comments, listed, rows := testComments(t), map[string]bool{}, 0
	for i, line := range strings.Split(string(page), "\n") {
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
