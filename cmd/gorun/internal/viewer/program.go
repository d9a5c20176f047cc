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
	_ "github.com/gorun-hpc/gorun/cmd/gorun/internal/linux" // on other systems the build fails, and this import gives the only error
)

const (
	// period is the time between two reports.
	period = time.Second
	// framesMost bounds how often per second the screen is drawn, because the ranks need the processors.
	framesMost = 20
)

// Run shows a job whose first report is first, until the job ends or the user quits. It reads keys from in. If
// in is nil, it reads no keys. The last table remains visible on out. A signal that ends processes may arrive,
// or the user may press a key that stands for it. Run then restores the terminal, and ends this process by that
// signal.
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

// show shows a table on a terminal until its end, and then restores the terminal. It returns the final table.
func show(table Model, in, out *os.File) (Model, error) {
	s := &session{signals: make(chan os.Signal, 1)}
	// Package tea obeys NO_COLOR only if its value is a boolean, but any value must switch colors off (no-color.org).
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

// session holds a program of package tea and the signals that this process receives.
type session struct {
	program *tea.Program
	signals chan os.Signal
	once    sync.Once
}

// fail ends the view because a write to the terminal has failed.
func (s *session) fail(err error) {
	s.once.Do(func() { go s.program.Send(failed{err}) }) // with go, because the program waits for this write
}

// obey carries out the default actions of signals, but leaves the alternate screen first. If a signal that
// ends the process arrives a second time, it takes its default action at once.
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
