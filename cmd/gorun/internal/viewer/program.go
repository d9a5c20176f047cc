package viewer

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	_ "github.com/gorun-hpc/gorun/cmd/gorun/internal/linux" // elsewhere its error is the only one
)

const (
	// period is the time between two reports.
	period = time.Second
	// framesMost is how often per second the screen is drawn at most: the ranks need the processors.
	framesMost = 20
)

// Run shows a job that has made its first report, until it ends, or its user ends the view. Keys are read from in;
// nil is for none. What was shown last stays on out. A signal that ends processes ends this one, and so do
// the keys that stand for one, when the terminal is as it was before.
func Run(first *inspection.Report, source Source, in, out *os.File) error {
	m, err := show(New(first, source, period), in, out)
	if _, failure := out.WriteString(m.Last()); err == nil {
		err = failure
	}
	if sig := m.Signal(); sig != 0 && !signal.Ignored(sig) {
		signal.Reset(sig)
		_ = unix.Kill(os.Getpid(), sig)
		select {} // kill(2) may return before the process ends
	}
	return err
}

// show shows a table on a terminal, and leaves that as it was. It returns the table at its end.
func show(table Model, in, out *os.File) (Model, error) {
	s := &session{signals: make(chan os.Signal, 1)}
	// Package tea obeys NO_COLOR only if it is a boolean; any value counts (no-color.org).
	environment := os.Environ()
	if os.Getenv("NO_COLOR") != "" {
		environment = append(environment, "NO_COLOR=1")
	}
	options := []tea.ProgramOption{
		tea.WithOutput(&screen{File: out, failed: s.fail}), tea.WithEnvironment(environment), tea.WithFPS(framesMost), tea.WithoutSignalHandler(),
	}
	if in == nil {
		options = append(options, tea.WithInput(nil))
		defer quieten(out)()
	} else {
		options = append(options, tea.WithInput(in))
	}
	s.program = tea.NewProgram(table, options...)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP} {
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
	go s.obey()
	end, err := s.program.Run()
	signal.Stop(s.signals)
	close(s.signals)
	if m, whole := end.(Model); whole {
		table = m
	}
	if err == nil {
		err = table.Err()
	}
	return table, err
}

// session is a program and the signals to its process.
type session struct {
	program *tea.Program
	signals chan os.Signal
	once    sync.Once
}

// fail ends the view because the terminal cannot be written.
func (s *session) fail(err error) {
	s.once.Do(func() { go s.program.Send(failed{err}) }) // who draws waits for the end of the write
}

// obey does what signals do by default, with the screen left before. A second one of a kind does it at once.
func (s *session) obey() {
	for sig := range s.signals {
		if sig != unix.SIGTSTP {
			signal.Reset(sig)
			s.program.Send(Interrupted{sig.(syscall.Signal)})
		} else if !orphaned() {
			s.program.Send(suspension{s.signals})
		}
	}
}
