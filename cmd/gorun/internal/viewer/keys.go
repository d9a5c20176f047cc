package viewer

import (
	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/lipgloss/v2"
)

// The keys that act while the table, or the operations of a rank, are shown. The last line of the view shows
// the keys that have a help text.
var (
	quitKeys  = key.NewBinding(key.WithKeys("q"), key.WithHelp("q", "quit"))
	leaveKeys = key.NewBinding(key.WithKeys("esc"))
	openKeys  = key.NewBinding(key.WithKeys("enter"), key.WithHelp("enter", "operations"))
	backKeys  = key.NewBinding(key.WithKeys("esc", "enter", "backspace"), key.WithHelp("esc", "back"))
	moveKeys  = key.NewBinding(key.WithKeys("up", "down", "pgup", "pgdown", "home", "end", "left", "right"), key.WithHelp("arrows", "move"))
	sortKeys  = key.NewBinding(key.WithKeys("r", "s", "m", "b", "w", "u"), key.WithHelp("r s m b w u", "sort"))
)

// Keys for which a terminal in its usual mode sends signals. In raw mode this process reads them.
const (
	interruptKey = "ctrl+c"
	abortKey     = `ctrl+\`
	suspendKey   = "ctrl+z"
)

// newHelp returns the model of the line of keys. The line is ASCII, so that terminals of every encoding show it.
func newHelp() help.Model {
	h := help.New()
	h.ShortSeparator, h.Ellipsis = " | ", "..."
	plain := lipgloss.NewStyle()
	h.Styles = help.Styles{ShortKey: plain.Foreground(lipgloss.Cyan), ShortDesc: plain.Faint(true), ShortSeparator: plain.Faint(true), Ellipsis: plain.Faint(true)}
	return h
}
