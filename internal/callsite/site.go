package callsite

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
)

// depth is the number of frames that a Site keeps. One would not be enough, because the frames of
// gorun's packages are skipped.
const depth = 6

// Site holds the callers of an operation as return addresses, the innermost first, with 0 after the
// outermost. If several functions were inlined at an address, Line uses only the innermost.
type Site [depth]uintptr

// Line returns the innermost line, as in "main.go:12", whose function has none of these prefixes in its
// name, or is in a file of tests. It returns "" if there is no such line.
func (s *Site) Line(prefixes ...string) string {
	for _, pc := range s {
		if pc == 0 {
			break
		}
		f, _ := goruntime.CallersFrames([]uintptr{pc}).Next()
		inside := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) })
		if f.File != "" && (!inside || strings.HasSuffix(f.File, "_test.go")) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}
