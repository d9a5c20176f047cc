package breaks

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tables is the directory of the tables, relative to the root of the module.
const Tables = "internal/mutation/breaks"

// Break is one plausible mistake in a package.
type Break struct {
	Name    string // describes the mistake
	Package string // directory of the package, relative to the root of the module
	Line    int    // number of the break's first line in the table
	Changes []Change
}

// racePrefix begins the names of breaks for the race detector.
const racePrefix = "race: "

// Race reports whether the tests have to run under the race detector to catch the break.
func (b *Break) Race() bool { return strings.HasPrefix(b.Name, racePrefix) }

// Change replaces consecutive lines of one file.
type Change struct {
	File     string // path relative to the package
	Line     int    // number of the change's first line in the table
	Old, New []string
}

// Table returns the path of a package's table, relative to the root of the module.
func Table(pkg string) string {
	return path.Join(Tables, strings.ReplaceAll(pkg, "/", "_")+".txt")
}

// Packages returns the sorted directories of those packages in the module at root that have a table.
func Packages(root string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(root, Tables, "*.txt"))
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, len(names))
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".txt")
		all = append(all, strings.ReplaceAll(base, "_", "/"))
	}
	slices.Sort(all)
	return all, nil
}

// Load reads the table of a package of the module at root.
func Load(root, pkg string) ([]Break, error) {
	text, err := os.ReadFile(filepath.Join(root, Table(pkg)))
	if err != nil {
		return nil, err
	}
	all, err := Parse(pkg, string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", Table(pkg), err)
	}
	return all, nil
}

// Parse parses the text of a package's table. An error begins with the number of the invalid line.
func Parse(pkg, text string) ([]Break, error) {
	t := table{pkg: pkg}
	for i, line := range strings.Split(text, "\n") {
		if err := t.read(i+1, line); err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	if err := t.end(); err != nil {
		return nil, fmt.Errorf("%d: %w", strings.Count(text, "\n")+1, err)
	}
	return t.all, nil
}

// table is the state of Parse.
type table struct {
	pkg     string
	all     []Break
	current Break   // the break that is being read; its Name is empty between breaks
	file    string  // the file that the break has named last, empty before the first file name
	change  *Change // the change that is being read, nil before its first line
}

func (t *table) read(number int, line string) error {
	if line == "" {
		return t.end()
	}
	switch text := line[1:]; line[0] {
	case '#':
		if t.current.Name != "" {
			return fmt.Errorf("an empty line separates breaks")
		}
		t.current = Break{Name: strings.TrimSpace(text), Package: t.pkg, Line: number}
		if t.current.Name == "" {
			return fmt.Errorf("the break has no name")
		}
		return nil
	case '-', '+', ' ':
		if t.file == "" {
			return fmt.Errorf("no file is named before this line")
		}
		t.edit(number, line[0], text)
		return nil
	}
	if t.current.Name == "" {
		return fmt.Errorf("a break begins with a line '# what it does wrong'")
	}
	if strings.HasSuffix(line, "_test.go") || path.Clean(line) != line || path.IsAbs(line) || strings.HasPrefix(line, "..") {
		return fmt.Errorf("%q is not a source file of the package", line)
	}
	if t.file != "" && t.change == nil {
		return fmt.Errorf("nothing changes in %s", t.file)
	}
	t.file, t.change = line, nil
	return nil
}

// edit adds one line to the current change, or to a new one.
func (t *table) edit(number int, sign byte, text string) {
	if t.change == nil {
		t.current.Changes = append(t.current.Changes, Change{File: t.file, Line: number})
		t.change = &t.current.Changes[len(t.current.Changes)-1]
	}
	if sign != '+' {
		t.change.Old = append(t.change.Old, text)
	}
	if sign != '-' {
		t.change.New = append(t.change.New, text)
	}
}

// end validates the break that is being read, and adds it to all. It does nothing between breaks.
func (t *table) end() error {
	b, changed := t.current, t.change != nil
	t.current, t.file, t.change = Break{}, "", nil
	if b.Name == "" {
		return nil
	}
	if !changed {
		return fmt.Errorf("%q ends without a change", b.Name)
	}
	for _, c := range b.Changes {
		if len(c.Old) == 0 {
			return fmt.Errorf("%q does not say where in %s", b.Name, c.File)
		}
		if slices.Equal(c.Old, c.New) {
			return fmt.Errorf("%q changes nothing in %s", b.Name, c.File)
		}
	}
	if slices.ContainsFunc(t.all, func(other Break) bool { return other.Name == b.Name }) {
		return fmt.Errorf("%q is there twice", b.Name)
	}
	t.all = append(t.all, b)
	return nil
}
