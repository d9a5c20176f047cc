// Package stage makes the emulated hosts of package nscluster for programs that are not tests.
package stage

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
)

// Stage takes the place of a test: it is an nscluster.TB. A Skip counts as a failure.
type Stage struct {
	cleanups []func()
	failed   error
}

// Open calls build, which makes hosts with the Stage as their nscluster.TB. If build fails, Open removes what build has
// made, and returns the error. Otherwise the caller must call Close.
func Open(build func(s *Stage)) (*Stage, error) {
	s := &Stage{}
	if err := s.run(func() { build(s) }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close removes the hosts.
func (s *Stage) Close() error {
	var all error
	for _, f := range slices.Backward(s.cleanups) {
		all = errors.Join(all, s.run(f))
	}
	s.cleanups = nil
	return all
}

// run calls f on a goroutine of its own, which Fatal ends, and returns the errors that f reports.
func (s *Stage) run(f func()) error {
	s.failed = nil
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
	return s.failed
}

// Helper does nothing.
func (s *Stage) Helper() {}

// Cleanup makes Close call f.
func (s *Stage) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// TempDir makes a directory that Close removes.
func (s *Stage) TempDir() string {
	dir, err := os.MkdirTemp("", "gorun-hosts")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.note(os.RemoveAll(dir)) })
	return dir
}

// note stores an error, which may be nil.
func (s *Stage) note(err error) { s.failed = errors.Join(s.failed, err) }

// Errorf stores an error.
func (s *Stage) Errorf(format string, args ...any) { s.note(fmt.Errorf(format, args...)) }

// Fatal stores an error and ends the function that the method run is running.
func (s *Stage) Fatal(args ...any) { s.Fatalf("%s", fmt.Sprint(args...)) }

// Fatalf is Fatal with a format.
func (s *Stage) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	goruntime.Goexit()
}

// Skip is Fatal.
func (s *Stage) Skip(args ...any) { s.Fatal(args...) }

// Skipf is Fatalf.
func (s *Stage) Skipf(format string, args ...any) { s.Fatalf(format, args...) }
