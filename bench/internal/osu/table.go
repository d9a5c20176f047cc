package osu

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Table prints each row of a benchmark when the row has been measured. With -json, it prints all rows at the
// end. Only rank 0 prints.
type Table struct {
	out     io.Writer
	options *Options
	result  Result
}

// Result is what -json prints.
type Result struct {
	Benchmark string   `json:"benchmark"`
	Ranks     int      `json:"ranks"`
	Type      string   `json:"type"`
	Arena     bool     `json:"arena"`
	Columns   []string `json:"columns"` // the names of the values of a row, with their units
	Rows      []Row    `json:"rows"`
}

// Row is one line: a size in bytes and a value for each column.
type Row struct {
	Size   int       `json:"size"`
	Values []float64 `json:"values"`
}

// NewTable begins the table of a benchmark.
func NewTable(w *runtime.World, o *Options, columns ...string) (*Table, error) {
	t := &Table{out: os.Stdout, options: o, result: Result{
		Benchmark: o.Title, Ranks: w.Size(), Type: o.Type, Arena: o.Arena, Columns: columns, Rows: []Row{},
	}}
	if w.Rank() != 0 {
		t.out = io.Discard
	}
	if o.JSON {
		return t, nil
	}
	text := fmt.Sprintf("# gorun %s\n# Datatype: %s.\n%-10s", o.Title, o.Type, "# Size")
	for _, column := range columns {
		text += fmt.Sprintf("%20s", column)
	}
	_, err := fmt.Fprintln(t.out, text)
	return t, err
}

// Rows calls measure for every size of the options, adds a row with the values that measure returns, and ends
// the table.
func (t *Table) Rows(measure func(size int) ([]float64, error)) error {
	for _, size := range t.options.Sizes {
		values, err := measure(size)
		if err != nil {
			return err
		}
		if err := t.add(size, values...); err != nil {
			return err
		}
	}
	return t.end()
}

// Only adds a single row to an empty table and ends the table.
func (t *Table) Only(size int, values ...float64) error {
	if err := t.add(size, values...); err != nil {
		return err
	}
	return t.end()
}

// add adds a row.
func (t *Table) add(size int, values ...float64) error {
	t.result.Rows = append(t.result.Rows, Row{size, values})
	if t.options.JSON {
		return nil
	}
	text := fmt.Sprintf("%-10d", size)
	for _, v := range values {
		text += fmt.Sprintf("%20.3f", v)
	}
	_, err := fmt.Fprintln(t.out, text)
	return err
}

// end ends the table.
func (t *Table) end() error {
	if !t.options.JSON {
		return nil
	}
	encoder := json.NewEncoder(t.out)
	encoder.SetIndent("", "\t")
	return encoder.Encode(&t.result)
}

// Means returns the means of values over all ranks. All ranks must call it.
func Means(c *runtime.Comm, values ...float64) ([]float64, error) {
	err := collectives.AllReduce(c, values, values, collectives.Sum)
	for i := range values {
		values[i] /= float64(c.Size())
	}
	return values, err
}
