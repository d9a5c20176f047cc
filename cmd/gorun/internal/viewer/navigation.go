package viewer

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// pressInTable handles a key while the table is shown.
func (m *Model) pressInTable(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(k, leaveKeys):
		return tea.Quit
	case key.Matches(k, sortKeys):
		m.order = m.order.press(k.String())
		m.order.sort(m.rows)
		m.cursor = 0
	case key.Matches(k, openKeys) && len(m.rows) > 0:
		m.opened, m.answered = m.rows[m.cursor].Rank, false
		m.measure()
		return m.ask()
	case key.Matches(k, moveKeys):
		m.move(k.String())
	}
	return nil
}

// move moves the selection, or scrolls the table sideways.
func (m *Model) move(to string) {
	last := len(m.rows) - 1
	switch to {
	case "up":
		m.cursor--
	case "down":
		m.cursor++
	case "pgup":
		m.cursor -= m.table.Height()
	case "pgdown":
		m.cursor += m.table.Height()
	case "home":
		m.cursor = 0
	case "end":
		m.cursor = last
	case "left":
		m.table.ScrollLeft(sideStep)
	case "right":
		m.table.ScrollRight(sideStep)
	}
	m.cursor = max(0, min(m.cursor, last))
}

// sideStep is the number of columns by which the left and right keys scroll.
const sideStep = 8

// pressInOperations handles a key while the operations of a rank are shown.
func (m *Model) pressInOperations(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(k, backKeys):
		m.opened, m.log = none, nil
		m.measure()
	case k.String() == "home":
		m.operations.GotoTop()
	case k.String() == "end":
		m.operations.GotoBottom()
	default:
		m.operations, _ = m.operations.Update(k)
	}
	return nil
}
