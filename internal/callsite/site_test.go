package callsite_test

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

const none = "no such package"

// here returns the line of its caller, as Go's runtime reports it.
func here() string {
	_, _, line, _ := goruntime.Caller(1)
	return fmt.Sprintf("site_test.go:%d", line)
}

//go:noinline
func operation() callsite.Site {
	var s callsite.Site
	s.Note()
	return s
}

//go:noinline
func generic[T any](T) callsite.Site { return operation() }

// inlined is short, so that the compiler inlines it into its callers. It also returns the line in which it
// calls operation.
func inlined() (callsite.Site, string) { return operation(), here() }

func TestLineOfTheCaller(t *testing.T) {
	s, want := operation(), here()
	require.Equal(t, want, s.Line(none))
	s, want = inlined()
	require.Equal(t, want, s.Line(none))
	var others sync.WaitGroup
	others.Go(func() {
		s, want := operation(), here()
		require.Equal(t, want, s.Line(none))
	})
	others.Wait()
}

// TestLinePassesOverAPackage checks that Line does not skip a function in a test file, even if the name of
// the function begins with the given prefix. An empty Site has no line.
func TestLinePassesOverAPackage(t *testing.T) {
	s := generic(1.5)
	require.Contains(t, s.Line("github.com/gorun-hpc/gorun/internal/callsite"), "site_test.go:")
	require.Contains(t, s.Line("testing"), "site_test.go:")
	var empty callsite.Site
	require.Empty(t, empty.Line(none))
}

// TestShortStack checks that a stack that is shorter than a Site ends with zero. No entry of an earlier call
// may remain.
func TestShortStack(t *testing.T) {
	s := deep(20)
	require.NotZero(t, s[len(s)-1])
	done := make(chan callsite.Site)
	go short(done)
	s = <-done
	require.Zero(t, s[len(s)-1])
	require.Contains(t, s.Line("github.com/gorun-hpc/gorun/internal/callsite_test"), "site_test.go:")
}

//go:noinline
func deep(n int) callsite.Site {
	if n == 0 {
		return operation()
	}
	return deep(n - 1)
}

func short(done chan<- callsite.Site) { done <- operation() }

// TestStacksThatGrow notes call sites in goroutines whose stacks grow and move.
func TestStacksThatGrow(t *testing.T) {
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for n := range 200 {
				s := deep(n * (i + 1) % 1000)
				require.Contains(t, s.Line(none), "site_test.go:")
			}
		})
	}
	all.Wait()
}

func TestNoteAllocatesNothing(t *testing.T) {
	var s callsite.Site
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Note() }))
}

func BenchmarkNote(b *testing.B) {
	var s callsite.Site
	for b.Loop() {
		s.Note()
	}
}

func BenchmarkCallers(b *testing.B) {
	var s callsite.Site
	for b.Loop() {
		goruntime.Callers(1, s[:])
	}
}
