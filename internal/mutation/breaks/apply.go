package breaks

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Apply returns the changed contents of the files that a break changes, by their paths relative to root, the
// root of the module. It returns an error if the lines that a change replaces do not occur exactly once, or
// if the result is not valid Go.
func (b *Break) Apply(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, c := range b.Changes {
		name := path.Join(b.Package, c.File)
		text, ok := files[name]
		if !ok {
			raw, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %q: %w", Table(b.Package), c.Line, b.Name, err)
			}
			text = string(raw)
		}
		changed, err := c.apply(text)
		if err == nil && path.Ext(name) == ".go" {
			_, err = parser.ParseFile(token.NewFileSet(), name, changed, parser.SkipObjectResolution)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q: %s: %w", Table(b.Package), c.Line, b.Name, name, err)
		}
		files[name] = changed
	}
	return files, nil
}

// apply returns the text of the file after the change.
func (c *Change) apply(text string) (string, error) {
	found := "\n" + strings.Join(c.Old, "\n") + "\n"
	put := "\n"
	if len(c.New) > 0 {
		put += strings.Join(c.New, "\n") + "\n"
	}
	text = "\n" + text
	if n := occurrences(text, found); n != 1 {
		return "", fmt.Errorf("the lines to find occur %d times:\n%s", n, strings.Join(c.Old, "\n"))
	}
	return strings.Replace(text, found, put, 1)[1:], nil
}

// occurrences counts the places in the argument text at which the argument found begins. Unlike
// strings.Count, it also counts places that overlap because they share a line break.
func occurrences(text, found string) int {
	n := 0
	for {
		i := strings.Index(text, found)
		if i < 0 {
			return n
		}
		n++
		text = text[i+1:]
	}
}
