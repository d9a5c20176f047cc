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
	status int           // once ended is closed
	ended  chan struct{} // closed when it has ended
}

// Start starts a command of the guest's shell. Many may run at a time.
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

// file is where the text or the output of a command is.
func (g *Guest) file(number int, kind string) string {
	return filepath.Join(g.dir, fmt.Sprintf("%d.%s", number, kind))
}

// Output returns what the command has printed so far, to both of its streams.
func (c *Command) Output() string {
	text, err := os.ReadFile(c.guest.file(c.number, "out"))
	if err != nil {
		return "" // it has not begun
	}
	return string(text)
}

// Wait waits for the command's end and returns its exit status. The error is ErrGone.
func (c *Command) Wait() (int, error) {
	select {
	case <-c.ended:
		return c.status, nil
	case <-c.guest.ended:
	}
	select {
	case <-c.ended: // before the guest did
		return c.status, nil
	default:
		return -1, c.guest.gone()
	}
}

// Run runs a command and returns its output and its exit status.
func (g *Guest) Run(command string) (string, int, error) {
	c, err := g.Start(command)
	if err != nil {
		return "", -1, err
	}
	status, err := c.Wait()
	return c.Output(), status, err
}
