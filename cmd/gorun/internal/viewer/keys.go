package viewer

import (
	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/lipgloss/v2"
)

// The keys of the table and of the operations of a rank. Those with a text are in the last line.
var (
	quitKeys  = key.NewBinding(key.WithKeys("q"), key.WithHelp("q", "quit"))
	leaveKeys = key.NewBinding(key.WithKeys("esc"))
	openKeys  = key.NewBinding(key.WithKeys("enter"), key.WithHelp("enter", "operations"))
	backKeys  = key.NewBinding(key.WithKeys("esc", "enter", "backspace"), key.WithHelp("esc", "back"))
	moveKeys  = key.NewBinding(key.WithKeys("up", "down", "pgup", "pgdown", "home", "end", "left", "right"), key.WithHelp("arrows", "move"))
	sortKeys  = key.NewBinding(key.WithKeys("r", "s", "m", "b", "w", "u"), key.WithHelp("r s m b w u", "sort"))
)

// Keys that are signals where the terminal is not read by itself.
const (
	interruptKey = "ctrl+c"
	abortKey     = `ctrl+\`
	suspendKey   = "ctrl+z"
)

// newHelp is the line of keys. It is of ASCII, for terminals of all encodings.
func newHelp() help.Model {
	h := help.New()
	h.ShortSeparator, h.Ellipsis = " | ", "..."
	plain := lipgloss.NewStyle()
	h.Styles = help.Styles{ShortKey: plain.Foreground(lipgloss.Cyan), ShortDesc: plain.Faint(true), ShortSeparator: plain.Faint(true), Ellipsis: plain.Faint(true)}
	return h
}
