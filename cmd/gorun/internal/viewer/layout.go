package viewer

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/viewport"
	"charm.land/lipgloss/v2"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/printable"
)

const (
	// sentenceMost bounds the lines of the report's sentence, which is long if it describes many ranks.
	sentenceMost = 4
	// withHelp is the least height of a terminal whose last line shows the keys. withStatus is the least
	// width at which that line also shows the status.
	withHelp   = 4
	withStatus = 60
)

// arrange fits the parts of the view into the terminal. It is called after each message. For this reason, it
// formats only the ranks that are visible. arrange, refresh and measure make the text of ranks printable.
func (m *Model) arrange() {
	titles := m.titles()
	titles = titles[:max(0, min(len(titles), m.height-withHelp+1))]
	help := 0
	if m.height >= withHelp {
		help = 1
	}
	room := m.height - len(titles) - help
	m.head, m.sentence = m.headIn(max(1, room-min(m.total(), (room+1)/2)))
	m.fixed = nil
	if len(titles) > 1 {
		m.fixed = []string{clipped(titles[0], m.width)}
	}
	widest := max(m.width, m.widest)
	if room -= len(m.head); m.opened == none {
		m.arrangeRanks(room, widest)
	} else {
		m.arrangeOperations(room)
	}
	m.heading.SetHeight(0)
	if len(titles) > 0 {
		resize(&m.heading, m.width, 1, []string{fmt.Sprintf("%-*s", widest, titles[len(titles)-1])})
		m.heading.SetXOffset(m.body().XOffset())
	}
}

// arrangeRanks shows as many ranks as fit, with the selected rank among them. The parameter room is the number of
// lines for them. The parameter widest is the number of columns to which arrangeRanks pads these lines.
func (m *Model) arrangeRanks(room, widest int) {
	m.first = scrolled(m.first, m.cursor, room, len(m.rows))
	seen := m.rows[m.first:min(len(m.rows), m.first+max(0, room))]
	lines := make([]string, len(seen))
	for i, w := range seen {
		line := printable.Line(w.String()[inspection.RankColumns:])
		lines[i] = line + strings.Repeat(" ", widest-lipgloss.Width(line))
	}
	m.heading.LeftGutterFunc = func(viewport.GutterContext) string { return inspection.Heading()[:inspection.RankColumns] }
	m.table.StyleLineFunc = func(i int) lipgloss.Style { return m.style(m.first + i) }
	m.table.LeftGutterFunc = func(line viewport.GutterContext) string { return m.gutter(m.first + line.Index) }
	resize(&m.table, m.width, max(0, room), lines)
}

// arrangeOperations shows as many operations of the opened rank as fit. The parameter room is the number of lines
// for them. If the newest operation was visible, it stays visible.
func (m *Model) arrangeOperations(room int) {
	m.heading.LeftGutterFunc = nil
	bottom := m.operations.AtBottom()
	resize(&m.operations, m.width, max(0, room), m.lines)
	if bottom {
		m.operations.GotoBottom()
	}
}

// scrolled returns the index of the first line to show. The parameter total is the number of lines, room is the number
// of lines that can be visible, and first is the previous result. The result is the index nearest to first for which
// the selected line is visible. If there are at least as many lines as can be visible, the result leaves no room empty.
func scrolled(first, selected, room, total int) int {
	first = min(first, total-room, selected)
	return max(first, selected-room+1, 0)
}

// total returns the number of lines of the body, visible or not.
func (m *Model) total() int {
	if m.opened == none {
		return len(m.rows)
	}
	return len(m.lines)
}

// gutter returns the first column of row i, the number of the rank. It does not move when the other columns
// are scrolled sideways.
func (m *Model) gutter(i int) string {
	if i >= len(m.rows) {
		return strings.Repeat(" ", inspection.RankColumns)
	}
	return m.style(i).Render(m.rows[i].String()[:inspection.RankColumns])
}

// body returns the part that can be scrolled: the table, or the operations of the opened rank.
func (m *Model) body() *viewport.Model {
	if m.opened == none {
		return &m.table
	}
	return &m.operations
}

// resize gives a part of the view its size and its lines.
func resize(part *viewport.Model, width, height int, lines []string) {
	part.SetWidth(width)
	part.SetHeight(height)
	part.SetContentLines(lines)
	part.SetYOffset(part.YOffset()) // clamps the offset to the new bounds
	part.SetXOffset(part.XOffset())
}

// headIn returns the first lines of the view: the sentence, which may be broken into several lines, and the
// facts. The argument most bounds the number of lines. headIn also returns the number of lines of the
// sentence.
func (m *Model) headIn(most int) (head []string, sentence int) {
	if m.said != "" {
		begin := beginning(m.said, (sentenceMost+1)*m.width) // cut first, because breaking a long sentence into lines takes long
		head = strings.Split(lipgloss.Wrap(begin, m.width, ","), "\n")
	}
	if n := min(most, sentenceMost); len(head) > n {
		head = head[:n]
		head[n-1] = clipped(head[n-1], m.width-len(cut)) + cut
	}
	sentence = len(head)
	for _, fact := range m.now.Facts() {
		head = append(head, printable.Line(fact))
	}
	head = head[:min(len(head), most)]
	for i := range head {
		head[i] = strings.TrimRight(clipped(head[i], m.width), " ")
	}
	return head, sentence
}

// cut replaces the end of a sentence that is too long.
const cut = "..."

// titles returns the lines above the body. The last one is scrolled sideways with the body.
func (m *Model) titles() []string {
	switch {
	case m.opened == none:
		return []string{inspection.Heading()[inspection.RankColumns:]}
	case m.log != nil:
		return m.log.Heading()
	case m.answered:
		return []string{fmt.Sprintf("nothing is recorded of rank %d: it has ended, or its host does not answer", m.opened)}
	default:
		return []string{fmt.Sprintf("rank %d is asked for its last operations", m.opened)}
	}
}

// measure sets the lines of the operations. It also sets widest to the length of the longest line of the
// body. For the table the length includes the gutter, because package viewport limits scrolling to the sides
// as if there were no gutter.
func (m *Model) measure() {
	m.lines, m.widest = nil, 0
	if m.opened == none {
		for _, w := range m.rows {
			m.widest = max(m.widest, inspection.RankColumns+lipgloss.Width(printable.Line(w.String()[inspection.RankColumns:])))
		}
		return
	}
	if m.log == nil {
		return
	}
	for _, line := range m.log.Lines() {
		m.lines = append(m.lines, printable.Line(line))
		m.widest = max(m.widest, lipgloss.Width(m.lines[len(m.lines)-1]))
	}
}

// beginning returns the first characters of a text. The argument most bounds the number of characters.
func beginning(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i]
		}
	}
	return text
}

// clipped returns the beginning of a line that fits into the given number of columns.
func clipped(line string, columns int) string {
	if columns <= 0 {
		return ""
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(columns).Render(line)
}
