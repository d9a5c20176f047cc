package rdmavm

import (
	"fmt"
	"os"
	"path/filepath"
)

// Command is a command that runs in a guest.
type Command struct {
	guest  *Guest
	number int
	status int           // exit status, valid after ended is closed
	ended  chan struct{} // closed when the command has ended
}

// Start starts a command in the guest's shell. Several commands may run at the same time.
func (g *Guest) Start(command string) (*Command, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &Command{guest: g, number: len(g.commands), ended: make(chan struct{})}
	if err := os.WriteFile(g.file(c.number, "sh"), []byte(command+"\n"), 0o644); err != nil {
		return nil, err
	}
	g.commands = append(g.commands, c)
	if _, err := fmt.Fprintln(g.say, c.number); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return c, nil
}

// file returns the name of the file with the text (kind "sh") or the output (kind "out") of a command.
func (g *Guest) file(number int, kind string) string {
	return filepath.Join(g.dir, fmt.Sprintf("%d.%s", number, kind))
}

// Output returns the text that the command has written so far to its standard output and standard error.
func (c *Command) Output() string {
	text, err := os.ReadFile(c.guest.file(c.number, "out"))
	if err != nil {
		return "" // the command has not begun
	}
	return string(text)
}

// Wait waits for the command's end and returns its exit status. The error is ErrGone if the guest
// has ended before the command.
func (c *Command) Wait() (int, error) {
	select {
	case <-c.ended:
		return c.status, nil
	case <-c.guest.ended:
	}
	select {
	case <-c.ended: // the command ended before the guest
		return c.status, nil
	default:
		return -1, c.guest.gone()
	}
}

// Run runs a command, waits for its end, and returns its output and its exit status.
func (g *Guest) Run(command string) (string, int, error) {
	c, err := g.Start(command)
	if err != nil {
		return "", -1, err
	}
	status, err := c.Wait()
	return c.Output(), status, err
}
