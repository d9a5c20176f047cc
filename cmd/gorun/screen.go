package main

import (
	"os"
	"os/signal"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Control sequences of ECMA-48, which all terminals of today know, and of xterm's alternate
// screen: what was on the terminal before comes back when it is left.
const (
	enterScreen = "\x1b[?1049h"
	leaveScreen = "\x1b[?1049l"
	cursorHome  = "\x1b[H"
	eraseLine   = "\x1b[K" // from the cursor to the end of the line
	eraseBelow  = "\x1b[J"
)

// screen shows one text after the other in place, on a terminal's alternate screen, which
// it leaves before a signal ends or stops the process.
type screen struct {
	out     *os.File
	signals chan os.Signal
	mu      sync.Mutex // guards what follows and what is written
	shown   string
	kept    bool // the terminal keeps output by itself
}

// openScreen enters the alternate screen of a terminal.
func openScreen(out *os.File) *screen {
	s := &screen{out: out, signals: make(chan os.Signal, 1)}
	s.enter()
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP} {
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
	go s.obey()
	return s
}

// close leaves it. What was shown last is written again, so that it can be read after the end.
func (s *screen) close() {
	signal.Stop(s.signals)
	close(s.signals)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
}

// enter is called with mu held, or before others have the screen.
func (s *screen) enter() {
	s.keepOutput(true)
	_, _ = s.out.WriteString(enterScreen)
}

// leave is called with mu held.
func (s *screen) leave() {
	_, _ = s.out.WriteString(leaveScreen + s.shown)
	s.keepOutput(false)
}

// keepOutput sets whether the terminal keeps output that is under way at Ctrl-C (NOFLSH, termios(3)):
// it drops that after the signal, which may be what leaves the screen.
func (s *screen) keepOutput(keep bool) {
	fd := int(s.out.Fd())
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return
	}
	if keep {
		s.kept = t.Lflag&unix.NOFLSH != 0
		t.Lflag |= unix.NOFLSH
	} else if !s.kept {
		t.Lflag &^= unix.NOFLSH
	}
	_ = unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

// size is that of the terminal without the last column: what is erased behind a character
// in that one would be the character itself. A terminal that does not know its size has 24 lines of 80.
func (s *screen) size() (columns, lines int) {
	w, err := unix.IoctlGetWinsize(int(s.out.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col < 2 || w.Row == 0 {
		return 79, 24
	}
	return int(w.Col) - 1, int(w.Row)
}

// draw shows a text, in one write, over the one before.
func (s *screen) draw(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = text
	lines := strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", eraseLine+"\r\n")
	_, err := s.out.WriteString(cursorHome + lines + eraseLine + eraseBelow)
	return err
}

// obey does what signals do by default, with the screen left before.
func (s *screen) obey() {
	for sig := range s.signals {
		number := sig.(unix.Signal)
		s.mu.Lock()
		s.leave()
		if number == unix.SIGTSTP {
			resumed := make(chan os.Signal, 1)
			signal.Notify(resumed, unix.SIGCONT)
			_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
			<-resumed // kill(2) may return before the process stops
			signal.Stop(resumed)
			s.enter()
			s.mu.Unlock()
			continue
		}
		signal.Reset(sig)
		_ = unix.Kill(os.Getpid(), number)
		select {} // with mu held: nothing is written any more
	}
}
