package viewer

import (
	"cmp"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// column is a column by which the ranks can be sorted.
type column struct {
	title string // the column's title in the heading of the table
	// falling reports whether the greatest value comes first.
	falling bool
	compare func(a, b inspection.Row) int
}

// columns holds the columns by the key of the keyboard that sorts by them.
var columns = map[string]column{
	"r": {"rank", false, func(a, b inspection.Row) int { return cmp.Compare(a.Rank, b.Rank) }},
	"s": {"state", false, func(a, b inspection.Row) int { return cmp.Compare(a.State, b.State) }},
	"m": {"messages/s", true, byRate(func(w inspection.Row) float64 { return w.Messages })},
	"b": {"bytes/s", true, byRate(func(w inspection.Row) float64 { return w.Bytes })},
	"w": {"waiting %", true, byRate(func(w inspection.Row) float64 { return w.Waiting })},
	"u": {"unexpected", true, byRate(func(w inspection.Row) float64 { return w.Unexpected })},
}

func byRate(rate func(w inspection.Row) float64) func(a, b inspection.Row) int {
	return func(a, b inspection.Row) int { return cmp.Compare(rate(a), rate(b)) }
}

// order is an order of the ranks.
type order struct {
	by       string // a key of columns
	reversed bool
}

// press returns the order for a key. The ranks are then sorted by the key's column. If o already sorts by
// this column, the new order is the reverse of o.
func (o order) press(by string) order {
	return order{by: by, reversed: o.by == by && !o.reversed}
}

// sort sorts the rows. Rows that are equal in the column are in rank order.
func (o order) sort(rows []inspection.Row) {
	c := columns[o.by]
	slices.SortFunc(rows, func(a, b inspection.Row) int {
		n := c.compare(a, b)
		if c.falling != o.reversed {
			n = -n
		}
		return cmp.Or(n, cmp.Compare(a.Rank, b.Rank))
	})
}

// String describes the order in words.
func (o order) String() string {
	words := "by " + columns[o.by].title
	if o.reversed {
		words += ", reversed"
	}
	return words
}
