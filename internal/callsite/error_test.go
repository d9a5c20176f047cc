package callsite_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

var errWrong = errors.New("it is wrong")

func TestErrorKnowsItsLine(t *testing.T) {
	err := callsite.At(errWrong)
	_, _, line, _ := goruntime.Caller(0)
	var at *callsite.Error
	require.ErrorAs(t, err, &at)
	require.Equal(t, fmt.Sprintf("error_test.go:%d", line-1), at.Line())
	require.EqualError(t, err, "at "+at.Line()+": it is wrong")
	require.ErrorIs(t, err, errWrong)
	require.NoError(t, callsite.At(nil))
}

// inlinedTwice is short, so that the compiler inlines inlinedTwice and inlinedOnce into their
// callers.
func inlinedTwice() error { return inlinedOnce() }
func inlinedOnce() error  { return callsite.At(errWrong) }

// TestErrorNamesALineOnce checks that an error names one line. A caller that returns the error
// adds another line only if its line differs.
func TestErrorNamesALineOnce(t *testing.T) {
	var before, after *callsite.Error
	err := func() error { return callsite.At(fmt.Errorf("again: %w", inlinedTwice())) }()
	require.ErrorAs(t, err, &after)
	require.ErrorAs(t, after.Err, &before)
	require.NotEqual(t, before.Line(), after.Line())
	same := func() error { return callsite.At(fmt.Errorf("again: %w", callsite.At(errWrong))) }()
	require.Regexp(t, `^again: at error_test\.go:\d+: it is wrong$`, same.Error())
}

// TestErrorWithoutALine checks that Caller returns no line for an empty stack. An error of a goroutine whose
// outermost function calls At has a line.
func TestErrorWithoutALine(t *testing.T) {
	line, function := callsite.Caller(nil)
	require.Empty(t, line+function)
	done := make(chan error)
	go relay(done)
	require.Regexp(t, `^at error_test\.go:\d+: it is wrong$`, (<-done).Error())
}

func relay(done chan<- error) { done <- callsite.At(errWrong) }
