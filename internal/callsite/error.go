package callsite

import (
	"errors"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strings"
)

// Error is an error with the program's source line of the call that it ended. It is made
// after a failure, and costs the unwinding of one stack; operations without a failure cost
// nothing. The line is looked up when the text is requested.
type Error struct {
	// Err is what went wrong.
	Err   error
	stack []uintptr
}

// errorDepth is how many frames an Error keeps: those of gorun, and the innermost of the
// program.
const errorDepth = 32

// At returns err with the place where the program called into gorun. An error that has a
// place already, and one of a goroutine of gorun's own, is returned unchanged.
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

// Error is the place and what went wrong.
func (e *Error) Error() string { return fmt.Sprintf("at %s: %v", e.Line(), e.Err) }

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// Line is the place, as in "main.go:12".
func (e *Error) Line() string {
	line, _ := Caller(e.stack)
	return line
}

// modulePath begins the paths of gorun's packages, protoactorPath those of protoactor,
// which calls gorun for actors.
const (
	modulePath     = "github.com/gorun-hpc/gorun/"
	protoactorPath = "github.com/asynkron/protoactor-go/"
)

// Caller returns where the program called into gorun, as in "main.go:12", and in which
// function: the innermost frame that is in neither gorun nor protoactor. The stack is that
// of goruntime.Callers. For a goroutine of gorun's own it returns "".
func Caller(stack []uintptr) (line, function string) { return caller(stack, "") }

// futureMethods begins the names of the functions that wait for the answer to a request to
// an actor.
const futureMethods = protoactorPath + "actor.(*Future)."

// FutureCaller is Caller for a goroutine that waits in protoactor for the answer to a
// request to an actor. For every other goroutine it returns "".
func FutureCaller(stack []uintptr) (line, function string) { return caller(stack, futureMethods) }

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

// mainFunction is the function that runs the program's own.
const mainFunction = modulePath + "runtime.Main"

// MainCaller is the innermost line outside the standard library in the goroutine of
// runtime.Main, with its function. For every other goroutine it returns "".
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

// isStandard reports whether a function is one of the standard library: the first element of
// its package's path has no dot, and it is not a program's package main.
func isStandard(function string) bool {
	first, _, isPath := strings.Cut(function, "/")
	if !isPath {
		return !strings.HasPrefix(function, "main.")
	}
	return !strings.Contains(first, ".")
}

// Program is the line of a frame with its function, as in "main.go:12 (main.step)"; "" if the function
// is gorun's, protoactor's or the standard library's.
func Program(f goruntime.Frame) string {
	if f.File == "" || isInside(f) || isStandard(f.Function) {
		return ""
	}
	line, function := place(f)
	return fmt.Sprintf("%s (%s)", line, function)
}

// isInside reports whether a frame is one of gorun's packages or of protoactor, and not of a test.
func isInside(f goruntime.Frame) bool {
	name := strings.TrimPrefix(f.Function, modulePath)
	inside := name != f.Function && (strings.HasPrefix(name, "runtime") || strings.HasPrefix(name, "collectives"))
	inside = inside || strings.HasPrefix(name, protoactorPath) || name == "runtime.goexit"
	return inside && !strings.HasSuffix(f.File, "_test.go")
}

// place is the line and the function of a frame, as they are printed.
func place(f goruntime.Frame) (line, function string) {
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line), filepath.Base(f.Function)
}

// caller is Caller from the innermost function on whose name begins with within.
func caller(stack []uintptr, within string) (line, function string) {
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
		if !more {
			return "", ""
		}
	}
}
