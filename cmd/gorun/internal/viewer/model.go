package viewer

import (
	"errors"
	"syscall"
	"time"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/printable"
)

// Source returns the next report of a job. If rank is not -1, the report also has the Log of this rank. The
// error is inspection.ErrNoJob when the job has ended. One goroutine at a time calls it.
type Source func(rank int) (*inspection.Report, error)

// Reported is the message with the results of a Source for Rank.
type Reported struct {
	Rank   int
	Report *inspection.Report
	Err    error
}

// Interrupted is the message that Signal has arrived. This signal ends the process.
type Interrupted struct{ Signal syscall.Signal }

// failed is the message that a write to the terminal has failed.
type failed struct{ err error }

// due is the message that the time for the next report has come. turn is the value of Model.turn when the
// wait began. If it differs from Model.turn, another report has been requested since then, and the message is
// ignored.
type due struct{ turn int }

// none is the value of a variable that holds a rank if there is no rank.
const none = -1

// Model is the table of a job, or the last operations of one of its ranks.
type Model struct {
	source Source
	period time.Duration
	turn   int  // counts the requests
	asking bool // a request is under way
	again  bool // another request must follow the answer

	before, now *inspection.Report // the table shows the rates between these reports
	rows        []inspection.Row   // sorted by order
	said        string             // the result of Sentence for the report in the field now
	order       order
	cursor      int             // index of the selected row
	opened      int             // the rank whose operations are shown, or none
	log         *inspection.Log // the log of opened
	answered    bool            // a report with the log of opened was requested and has arrived; log may be nil

	first         int      // index of the first row that is visible
	lines         []string // the lines of the operations
	widest        int      // the length of the longest line
	width, height int
	head, fixed   []string       // the first lines of the view, and the titles that are not scrolled sideways
	sentence      int            // the number of lines of head that belong to the sentence
	heading       viewport.Model // the last title line, above the columns; it is scrolled sideways together with them
	table         viewport.Model
	operations    viewport.Model
	help          help.Model

	signal syscall.Signal // the signal that has ended the view: it was sent, or a key stands for it; 0 if none
	err    error
}

// New returns the table of a job whose first report is first. The table requests each further report a period
// after the previous answer. Its size is 24 lines of 80 columns until a message with the terminal's size arrives.
func New(first *inspection.Report, source Source, period time.Duration) Model {
	m := Model{
		source: source, period: period, now: first, order: order{by: "r"}, opened: none, width: 80, height: 24,
		heading: viewport.New(), table: viewport.New(), operations: viewport.New(), help: newHelp(),
	}
	m.table.FillHeight, m.operations.FillHeight = true, true
	m.refresh()
	m.measure()
	m.arrange()
	return m
}

// Init returns the command that waits until the second report is due.
func (m Model) Init() tea.Cmd { return m.wait() }

// Err returns the error that has ended the view. It is nil if the job has ended or the user has quit.
func (m Model) Err() error { return m.err }

// Signal returns the signal that has ended the view. Either the signal was sent, or the user has pressed a key
// that stands for the signal. Signal returns 0 if no signal has ended the view.
func (m Model) Signal() syscall.Signal { return m.signal }

// Update handles a message.
func (m Model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	var then tea.Cmd
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(1, message.Width), max(1, message.Height)
	case due:
		if message.turn == m.turn {
			then = m.ask()
		}
	case Reported:
		then = m.take(message)
	case Interrupted:
		m.signal, then = message.Signal, tea.Quit
	case suspension:
		then = tea.Exec(message, nil)
	case failed:
		m.err, then = message.err, tea.Quit
	case tea.KeyPressMsg:
		then = m.press(message)
	}
	m.arrange()
	return m, then
}

// wait returns the command that sends a message when the next report is due.
func (m *Model) wait() tea.Cmd {
	turn := m.turn
	return tea.Tick(m.period, func(time.Time) tea.Msg { return due{turn} })
}

// ask returns the command that requests a report. If a request is under way, it returns nil, and take asks
// again after the answer.
func (m *Model) ask() tea.Cmd {
	if m.again = m.asking; m.again {
		return nil
	}
	m.asking = true
	m.turn++
	rank, source := m.opened, m.source
	return func() tea.Msg {
		r, err := source(rank)
		return Reported{Rank: rank, Report: r, Err: err}
	}
}

// take handles a report. In two cases the table does not change. In the first case, the report was requested
// to show the operations of a rank, and was made less than half a period after the previous report. Rates
// over such a short time mean little. In the second case, all ranks have ended. The previous table is then
// more useful.
func (m *Model) take(r Reported) tea.Cmd {
	m.asking = false
	if r.Err != nil {
		if !errors.Is(r.Err, inspection.ErrNoJob) {
			m.err = r.Err
		}
		return tea.Quit
	}
	if m.opened != none && r.Rank == m.opened {
		m.log, m.answered = r.Report.Log, true
	}
	if r.Report.Ended < r.Report.Ranks && r.Report.Now.Sub(m.now.Now) >= m.period/2 {
		m.before, m.now = m.now, r.Report
		m.refresh()
	}
	m.measure()
	if m.again {
		return m.ask()
	}
	return m.wait()
}

// refresh sets the rows from the reports. If the rows are sorted by rank, the same rank stays selected. In
// any other order, the same line stays selected, because the line of a rank changes all the time.
func (m *Model) refresh() {
	selected := none
	if m.cursor < len(m.rows) {
		selected = m.rows[m.cursor].Rank
	}
	m.rows, m.said = m.now.Rows(m.before), printable.Line(m.now.Sentence())
	m.order.sort(m.rows)
	if m.order.by == "r" {
		for i, w := range m.rows {
			if w.Rank == selected {
				m.cursor = i
			}
		}
	}
	m.cursor = max(0, min(m.cursor, len(m.rows)-1))
}

// press handles a key.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case interruptKey:
		m.signal = syscall.SIGINT
		return tea.Quit
	case abortKey:
		m.signal = syscall.SIGQUIT
		return tea.Quit
	case suspendKey:
		return suspend
	case quitKeys.Keys()[0]:
		return tea.Quit
	}
	if m.opened != none {
		return m.pressInOperations(k)
	}
	return m.pressInTable(k)
}

// suspend sends SIGTSTP to this process. A terminal in its usual mode would send the signal to the whole
// process group.
func suspend() tea.Msg {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGTSTP)
	return nil
}
