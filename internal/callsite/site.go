package callsite

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
)

// depth is the number of frames that a Site keeps. One frame is not enough, because Line skips the frames of
// gorun's packages.
const depth = 6

// Site holds the callers of an operation as return addresses, the innermost first, with 0 after the
// outermost. If several functions were inlined at an address, Line uses only the innermost function.
type Site [depth]uintptr

// Line returns the innermost line, as in "main.go:12", whose function's name begins with none of the
// prefixes. A line in a test file also counts, whatever the name of its function. Line returns "" if there is
// no such line.
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
