package viewer

import (
	"cmp"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// column is one that the ranks can be sorted by.
type column struct {
	title string // in the heading of the table
	// falling says that it begins with the greatest.
	falling bool
	compare func(a, b inspection.Row) int
}

// columns are by the keys that sort by them.
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

// order is how the ranks are sorted.
type order struct {
	by       string // a key of columns
	reversed bool
}

// press sorts by the column of a key, the other way round if the ranks are sorted by it already.
func (o order) press(by string) order {
	return order{by: by, reversed: o.by == by && !o.reversed}
}

// sort sorts the ranks. Those that are equal stay in the order of their numbers.
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

// String says it in words.
func (o order) String() string {
	words := "by " + columns[o.by].title
	if o.reversed {
		words += ", reversed"
	}
	return words
}
