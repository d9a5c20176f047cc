package callsite

import (
	"errors"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// Error is an error with the source line at which the program called the operation that failed. It is made
// only after a failure, by unwinding one stack. Operations that succeed have no cost.
type Error struct {
	// Err is the error without the line.
	Err   error
	stack []uintptr
}

// errorDepth is the number of frames that an Error keeps. It is enough for the frames of gorun
// and the innermost frames of the program.
const errorDepth = 32

// taskFunction runs the function of a nonblocking operation, on a goroutine of gorun or in Wait.
const taskFunction = modulePath + "runtime.(*task).run"

// At returns err with the line at which the program called into gorun. It returns err unchanged if
// err already has that line, or if the calling goroutine belongs to gorun. In a nonblocking operation, At also
// returns err unchanged if Wait runs the operation, so that the text does not depend on the goroutine.
func At(err error) error {
	if err == nil {
		return nil
	}
	var room [errorDepth]uintptr
	e := &Error{err, room[:goruntime.Callers(2, room[:])]}
	var before *Error
	if line := e.Line(); line == "" || errors.As(err, &before) && before.Line() == line {
		return err
	}
	return e
}

// Error returns the line and the text of Err.
func (e *Error) Error() string { return fmt.Sprintf("at %s: %v", e.Line(), e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Line returns the line at which the program called into gorun, as in "main.go:12".
func (e *Error) Line() string {
	line, _ := caller(e.stack, "", taskFunction)
	return line
}

// modulePath is the prefix of the paths of gorun's packages. protoactorPath is the prefix of the paths of
// protoactor's packages, which call gorun on behalf of actors.
const (
	modulePath     = "github.com/gorun-hpc/gorun/"
	protoactorPath = "github.com/asynkron/protoactor-go/"
)

// Caller returns the line at which the program called into gorun, as in "main.go:12", and the function that
// contains the line. Both are taken from the innermost frame that belongs to neither gorun nor protoactor (see
// isInside). stack is a result of goruntime.Callers. For a goroutine that belongs to gorun, Caller returns "".
func Caller(stack []uintptr) (line, function string) { return caller(stack, "", "") }

// futureMethods is the prefix of the names of the functions that wait for the answer to a request
// to an actor.
const futureMethods = protoactorPath + "actor.(*Future)."

// FutureCaller returns the same as Caller for a goroutine that waits in protoactor for the answer
// to a request to an actor. For every other goroutine it returns "".
func FutureCaller(stack []uintptr) (line, function string) { return caller(stack, futureMethods, "") }

// Within reports whether a function whose name begins with a prefix is in a stack.
func Within(stack []uintptr, prefix string) bool {
	frames := goruntime.CallersFrames(stack)
	for more := len(stack) > 0; more; {
		var f goruntime.Frame
		if f, more = frames.Next(); strings.HasPrefix(f.Function, prefix) {
			return true
		}
	}
	return false
}

// mainFunction is the function that calls the function of a rank.
const mainFunction = modulePath + "runtime.Main"

// MainCaller returns the innermost line outside the standard library in the goroutine of
// runtime.Main, and the function that contains the line. For every other goroutine it returns "".
func MainCaller(stack []uintptr) (line, function string) {
	frames := goruntime.CallersFrames(stack)
	for more := len(stack) > 0; more; {
		var f goruntime.Frame
		f, more = frames.Next()
		if f.Function == mainFunction {
			return line, function
		}
		if line == "" && !isStandard(f.Function) {
			line, function = place(f)
		}
	}
	return "", ""
}

// isStandard reports whether a function belongs to the standard library: the first element of its package's
// path contains no dot, and the package is neither main nor in a module of the program.
func isStandard(function string) bool {
	if slices.ContainsFunc(dotless(), func(module string) bool {
		rest, in := strings.CutPrefix(function, module)
		return in && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "."))
	}) {
		return false
	}
	first, _, isPath := strings.Cut(function, "/")
	if !isPath {
		return !strings.HasPrefix(function, "main.")
	}
	return !strings.Contains(first, ".")
}

// dotless returns those paths of the program's modules whose first elements contain no dot.
var dotless = sync.OnceValue(func() (modules []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, m := range append(info.Deps, &info.Main) {
		if first, _, _ := strings.Cut(m.Path, "/"); first != "" && !strings.Contains(first, ".") {
			modules = append(modules, m.Path)
		}
	}
	return modules
})

// Program returns the line and the function of a frame, as in "main.go:12 (main.step)". It returns "" if the
// function belongs to gorun or protoactor (see isInside) or to the standard library.
func Program(f goruntime.Frame) string {
	if f.File == "" || isInside(f) || isStandard(f.Function) {
		return ""
	}
	line, function := place(f)
	return fmt.Sprintf("%s (%s)", line, function)
}

// isInside reports whether the function of a frame is in protoactor, in gorun's packages runtime or
// collectives, or in a package below these. It also returns true for the outermost function of a goroutine.
// It returns false for functions of tests.
func isInside(f goruntime.Frame) bool {
	name := strings.TrimPrefix(f.Function, modulePath)
	inside := name != f.Function && (strings.HasPrefix(name, "runtime") || strings.HasPrefix(name, "collectives"))
	inside = inside || strings.HasPrefix(name, protoactorPath) || name == "runtime.goexit"
	return inside && !strings.HasSuffix(f.File, "_test.go")
}

// place returns the line and the function of a frame in the form in which they are printed.
func place(f goruntime.Frame) (line, function string) {
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line), filepath.Base(f.Function)
}

// caller does the work of Caller. If the argument within is not "", caller begins at the innermost function
// whose name begins with within. It skips the frames of the functions that this function has called. If the argument
// until is not "", the search ends with the function of that name: caller does not look at the functions that
// called it.
func caller(stack []uintptr, within, until string) (line, function string) {
	if len(stack) == 0 {
		return "", ""
	}
	frames := goruntime.CallersFrames(stack)
	for found := within == ""; ; {
		f, more := frames.Next()
		found = found || strings.HasPrefix(f.Function, within)
		if found && f.File != "" && !isInside(f) {
			return place(f)
		}
		if !more || f.Function == until {
			return "", ""
		}
	}
}
