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

// Source returns the next report of a job, with the Log of a rank unless that is -1. The error is
// inspection.ErrNoJob when the job has ended. It is called by one goroutine at a time.
type Source func(rank int) (*inspection.Report, error)

// Reported is the message with what a Source has returned for Rank.
type Reported struct {
	Rank   int
	Report *inspection.Report
	Err    error
}

// Interrupted is the message that a signal has arrived which ends the process.
type Interrupted struct{ Signal syscall.Signal }

// failed is the message that the terminal cannot be written.
type failed struct{ err error }

// due is the message that the time for the next report has come, if no other one was asked for since.
type due struct{ turn int }

// none is in place of a rank.
const none = -1

// Model is the table of a job, or the last operations of one of its ranks.
type Model struct {
	source Source
	period time.Duration
	turn   int  // counts the requests
	asking bool // a request is under way
	again  bool // ask again when it is answered

	before, now *inspection.Report // the table has the rates between them
	rows        []inspection.Row   // in order
	said        string             // the sentence
	order       order
	cursor      int             // the selected row
	opened      int             // the rank whose operations are shown, or none
	log         *inspection.Log // of that
	answered    bool            // that rank was asked for, though log may be nil

	first         int      // the first line of rows that is seen
	lines         []string // of the operations
	widest        int      // the length of the longest line
	width, height int
	head, fixed   []string       // the first lines
	sentence      int            // how many lines of head are the sentence
	heading       viewport.Model // as far to the right as table is
	table         viewport.Model
	operations    viewport.Model
	help          help.Model

	signal syscall.Signal // what has ended the view, 0 for nothing that a signal stands for
	err    error
}

// New returns the table of a job that has made its first report. It asks for the next one a period after the
// answer before. Until it hears the size of its terminal it has 24 lines of 80 columns.
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

// Init waits for the time of the second report.
func (m Model) Init() tea.Cmd { return m.wait() }

// Err is why the view has ended, nil if the job or its user has ended it.
func (m Model) Err() error { return m.err }

// Signal is what has ended the view: a signal, or a key that stands for one; 0 if neither has.
func (m Model) Signal() syscall.Signal { return m.signal }

// Update takes a message.
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

// wait ends with a message when the next report is due.
func (m *Model) wait() tea.Cmd {
	turn := m.turn
	return tea.Tick(m.period, func(time.Time) tea.Msg { return due{turn} })
}

// ask asks for a report, at once or after the answer that is under way.
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

// take takes a report. One that comes soon after another, for the operations of a rank, does not change the
// table: counters of a short time say little. Neither does one in which all ranks have ended: the table before says more.
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

// refresh makes the rows of the reports. The selection stays on its rank in the order of ranks, and else in
// its place: ranks change theirs all the time.
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

// press takes a key.
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

// suspend is what a terminal does at the key, for this process alone.
func suspend() tea.Msg {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGTSTP)
	return nil
}
