package gorun_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link matches a link in Markdown. Its group is the target.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksOfPages checks that the targets of links between files of the tree exist. If a target names a
// heading, the heading must exist, too.
func TestLinksOfPages(t *testing.T) {
	found := 0
	walk(t, func(name string) {
		if path.Ext(name) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue // the target is not a file of the tree
			}
			found++
			file, heading, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, m[1])
				continue
			}
			if heading != "" && !hasHeading(t, target, heading) {
				t.Errorf("%s: %s has no heading for %s", name, target, m[1])
			}
		}
	})
	if found == 0 {
		t.Error("no links found")
	}
}

// hasHeading reports whether a page has a heading with this anchor. The anchor has GitHub's form:
// lower case, dashes for spaces, no punctuation.
func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	for line := range strings.Lines(read(t, page)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		made := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(title)))
		if made == anchor {
			return true
		}
	}
	return false
}

// TestExamplesAreListed checks that the page of the examples lists every example.
func TestExamplesAreListed(t *testing.T) {
	page := read(t, "examples/README.md")
	all, err := filepath.Glob("examples/*/main.go")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, file := range all {
		name := path.Base(path.Dir(filepath.ToSlash(file)))
		if !strings.Contains(page, "]("+name+"/main.go)") {
			t.Errorf("examples/README.md does not list %s", name)
		}
	}
}

// TestWorkflowRunsTheCheck checks that the GitHub workflow runs the same script as developers run, .ci/run.
func TestWorkflowRunsTheCheck(t *testing.T) {
	if !strings.Contains(read(t, ".github/workflows/ci.yml"), "\n      - run: .ci/run\n") {
		t.Error("the workflow does not run .ci/run")
	}
	if st, err := os.Stat(".ci/run"); err != nil || st.Mode()&0o111 == 0 {
		t.Error(".ci/run is not executable", err)
	}
}

// TestTagsOfTheChangelog checks that the head of the changelog names the tag of every entry of the section
// Unreleased.
func TestTagsOfTheChangelog(t *testing.T) {
	head, rest, _ := strings.Cut(read(t, "CHANGELOG.md"), "\n## Unreleased\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	for line := range strings.Lines(section) {
		entry, ok := strings.CutPrefix(line, "- ")
		if !ok {
			continue
		}
		tag, _, tagged := strings.Cut(entry, "] ")
		if !tagged || !strings.Contains(head, tag+"]") {
			t.Errorf("the head does not name the tag of %.60q", line)
		}
	}
}
