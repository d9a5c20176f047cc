package callsite

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
)

// depth is how many frames are kept: frames of gorun's packages are skipped, so one is not
// enough.
const depth = 6

// Site is where a call came from: return addresses, the innermost first, 0 after the
// outermost. Of functions that were inlined it knows the innermost alone.
type Site [depth]uintptr

// Line returns the innermost line, as in "main.go:12", of a function that is in none of
// the packages with these prefixes, or is one of their tests; "" if there is none.
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
