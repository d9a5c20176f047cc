package viewer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/printable"
)

var (
	bold     = lipgloss.NewStyle().Bold(true)
	chosen   = lipgloss.NewStyle().Reverse(true)
	alarming = lipgloss.NewStyle().Foreground(lipgloss.Red)
	over     = lipgloss.NewStyle().Faint(true)
)

// style returns the style of row i of the table.
func (m *Model) style(i int) lipgloss.Style {
	switch {
	case i == m.cursor:
		return chosen
	case i >= len(m.rows):
		return lipgloss.NewStyle()
	}
	switch m.rows[i].State {
	case inspection.Silent, inspection.Stopped, inspection.Debugged, inspection.InKernel:
		return alarming
	case inspection.Finished:
		return over
	default:
		return lipgloss.NewStyle()
	}
}

// View draws the parts that Update has arranged.
func (m Model) View() tea.View {
	parts := slices.Concat(m.head, m.fixed)
	for i := range m.sentence {
		parts[i] = bold.Render(parts[i])
	}
	if m.heading.Height() > 0 {
		parts = append(parts, m.underlined(m.heading.View()))
	}
	if body := m.body(); body.Height() > 0 {
		parts = append(parts, body.View())
	}
	if m.height >= withHelp {
		parts = append(parts, m.keys())
	}
	v := tea.NewView(strings.Join(parts, "\n"))
	v.AltScreen, v.DisableBracketedPasteMode = true, true
	return v
}

// underlined returns the heading in bold. In the heading of the table, the title of the column by which the
// ranks are sorted is also underlined.
func (m Model) underlined(heading string) string {
	title := columns[m.order.by].title
	if m.opened != none || !strings.Contains(heading, title) {
		return bold.Render(heading)
	}
	before, after, _ := strings.Cut(heading, title)
	return bold.Render(before) + bold.Underline(true).Render(title) + bold.Render(after)
}

// keys returns the last line of the view: the keys, and the status at the right.
func (m Model) keys() string {
	list := []key.Binding{quitKeys, openKeys, sortKeys, moveKeys}
	if m.opened != none {
		list = []key.Binding{quitKeys, backKeys, moveKeys}
	}
	status := m.status()
	if m.width < withStatus {
		status = ""
	}
	h := m.help
	room := m.width - len(status)
	if status != "" {
		room--
	}
	h.SetWidth(room)
	line := clipped(h.ShortHelpView(list), room) // the help may be too long by a word
	return line + strings.Repeat(" ", m.width-lipgloss.Width(line)-len(status)) + status
}

// status describes which lines of the body are visible, and the order of the ranks.
func (m Model) status() string {
	room, total, first := m.body().Height(), m.total(), m.first+1
	if total == 0 || room == 0 {
		return ""
	}
	if m.opened != none {
		first = m.operations.YOffset() + 1
	}
	status := fmt.Sprintf("%d-%d of %d", first, min(total, first+room-1), total)
	if m.opened == none {
		status += " " + m.order.String()
	}
	return status
}

// Last returns the table as text that remains on the screen after the view has ended. It contains the rows that
// were visible last and the number of rows that it omits, but no keys and no selection.
func (m Model) Last() string {
	m.opened = none
	m.measure()
	m.arrange()
	lines, _ := m.headIn(math.MaxInt)
	lines = append(lines, clipped(inspection.Heading(), m.width))
	rows := m.rows[m.first:min(len(m.rows), m.first+max(1, m.table.Height()))]
	for _, w := range rows {
		lines = append(lines, clipped(printable.Line(w.String()), m.width))
	}
	if more := len(m.rows) - len(rows); more > 0 {
		lines = append(lines, clipped(fmt.Sprintf("and %d more, sorted %v", more, m.order), m.width))
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
