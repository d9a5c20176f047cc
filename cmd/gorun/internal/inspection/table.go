package inspection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rowsMax bounds the ranks of a table.
const rowsMax = 30

// Table is the report as a table of the ranks that have joined, below the lines that begin Text. Rates
// are those since an earlier report, before; nil is none. Of many ranks it has the 30 that wait most, in the order of
// their numbers.
func (r *Report) Table(before *Report) string {
	rows := r.Rows(before)
	shown := min(len(rows), rowsMax)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Waiting, a.Waiting) })
	more := len(rows) - shown
	rows = rows[:shown]
	slices.SortFunc(rows, func(a, b Row) int { return a.Rank - b.Rank })
	text := append(r.head(), Heading())
	for _, w := range rows {
		text = append(text, w.String())
	}
	if more > 0 {
		text = append(text, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(text, "\n") + "\n"
}
