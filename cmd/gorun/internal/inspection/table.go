package inspection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rowsMax bounds the number of ranks in a table.
const rowsMax = 30

// Table returns the Facts and the Sentence of the report, and a table of the ranks that have joined. Rates are
// averages over the time since an earlier report, which is the argument before. They are unknown if before is
// nil or of another generation. If more than 30 ranks have joined, the table contains the 30 ranks that wait
// most, in rank order.
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
