package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// row is a prediction for one algorithm, number of ranks and length.
type row struct {
	Ranks, Bytes int
	Algorithm    string
	Micros       float64 // time in microseconds until the last rank has finished
	MeanMicros   float64 // mean over the ranks
	Messages     int     // number of messages of all ranks
	Volume       int     // number of bytes in these messages
	Busiest      simulation.Cost
	// Measured is the time that was measured on this machine, as the mean over the ranks. Without -measure,
	// it is 0.
	Measured float64 `json:",omitempty"`
	// Left is the reason why there is no prediction, or "".
	Left string `json:",omitempty"`
}

// table prints each prediction when it is added.
type table struct {
	o    *options
	out  io.Writer
	rows []row
	err  error // the first error of out
}

// printf prints a part of the table as text, unless -json is given.
func (t *table) printf(format string, a ...any) {
	if t.err == nil && !t.o.json {
		_, t.err = fmt.Fprintf(t.out, format, a...)
	}
}

func newTable(o *options, out io.Writer) *table {
	t := &table{o: o, out: out}
	t.printf("# %s in virtual time; bytes are %s, *: the most of any rank\n", o.operation, meaning(o.operation))
	if o.measurement.directory != "" {
		t.printf("# %8s %12s %-20s %14s %14s %14s\n", "ranks", "bytes", "algorithm", "predicted us", "measured us", "deviation")
		return t
	}
	t.printf("# %8s %12s %-20s %14s %14s %16s %12s %16s %14s\n",
		"ranks", "bytes", "algorithm", "time us", "messages", "volume", "messages*", "volume*", "scratch*")
	return t
}

// meaning names the data of an operation to which the column of bytes refers.
func meaning(operation string) string {
	switch operation {
	case "bcast", "reduce", "allreduce", "scan", "exscan":
		return "the vector"
	case "reducescatter":
		return "all blocks"
	case "barrier":
		return "nothing"
	default:
		return "a block"
	}
}

// rowsOf adds the rows of an algorithm for one number of ranks and all lengths.
func (t *table) rowsOf(ranks int, name string) error {
	o := t.o
	var measured figures
	for _, bytes := range o.bytes {
		u := simulation.Run{
			Operation: o.operation, Algorithm: name, Ranks: ranks, Bytes: bytes, Root: o.root,
			Model: o.model, MessagesMax: o.messagesMax,
		}
		res, err := u.Predict()
		left := errors.Is(err, simulation.ErrMessages) || errors.Is(err, simulation.ErrRanks)
		if err != nil && (!left || !o.all) {
			return err
		}
		if err == nil && measured == nil && o.measurement.directory != "" {
			p := collective(o.operation, name, ranks, o.bytes)
			if err := o.measurement.measure(p); err != nil {
				return err
			}
			var failure error
			if measured, failure = p.medians(); failure != nil {
				return failure
			}
		}
		t.add(ranks, bytes, name, res, err, measured[bytes])
	}
	return nil
}

// add prints a prediction, or the reason why there is none.
func (t *table) add(ranks, bytes int, name string, res *simulation.Result, left error, measured float64) {
	r := row{Ranks: ranks, Bytes: bytes, Algorithm: name}
	if left != nil {
		r.Left = left.Error()
	} else {
		r.Measured = measured
		r.Micros, r.MeanMicros = res.Time.Seconds()*1e6, res.Mean.Seconds()*1e6
		r.Messages, r.Volume, r.Busiest = res.Messages, res.Bytes, res.Busiest
	}
	t.rows = append(t.rows, r)
	if left != nil {
		t.printf("%10d %12d %-20s %s\n", ranks, bytes, name, r.Left)
		return
	}
	if t.o.measurement.directory != "" {
		t.printf("%10d %12d %-20s %14.2f %14.2f %+13.1f%%\n", ranks, bytes, name, r.MeanMicros, measured, 100*r.deviation())
		return
	}
	b := &r.Busiest
	t.printf("%10d %12d %-20s %14.2f %14d %16d %12d %16d %14d\n", ranks, bytes, name,
		r.Micros, r.Messages, r.Volume, max(b.Sent, b.Received), max(b.SentBytes, b.ReceivedBytes), b.Scratch)
}

// deviation returns the predicted time minus the measured time, as a fraction of the measured time.
func (r *row) deviation() float64 { return r.MeanMicros/r.Measured - 1 }

// close prints the mean deviation with -measure, and the whole table as JSON with -json.
func (t *table) close() error {
	if n, sum := 0, 0.0; t.o.measurement.directory != "" {
		for _, r := range t.rows {
			if r.Measured > 0 {
				n++
				sum += math.Abs(r.deviation())
			}
		}
		t.printf("# mean of the deviations of %d rows, without their signs: %.1f%%\n", n, 100*sum/float64(max(n, 1)))
	}
	if !t.o.json {
		return t.err
	}
	e := json.NewEncoder(t.out)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"Operation": t.o.operation, "Model": t.o.model, "Rows": t.rows})
}

// draw writes a chart of the predictions to a file.
func (t *table) draw(name string) error {
	overRanks := len(t.o.ranks) > 1
	c := curves{Title: t.o.operation + " in virtual time", X: "bytes", Y: "us"}
	if overRanks {
		c.X = "ranks"
	}
	constant := t.fixed(overRanks)
	if only := constant[0]; len(constant) == 1 && t.o.operation != "barrier" {
		c.Title += fmt.Sprintf(", %d %s", only.value, only.unit)
	}
	for _, algorithm := range t.o.algorithms {
		for _, fixed := range constant {
			s := series{Name: algorithm + fixed.suffix}
			for _, r := range t.rows {
				x, other := r.Bytes, r.Ranks
				if overRanks {
					x, other = other, x
				}
				if r.Algorithm == algorithm && other == fixed.value && r.Left == "" {
					s.Points = append(s.Points, point{float64(x), r.Micros})
				}
			}
			if len(s.Points) > 0 {
				c.Series = append(c.Series, s)
			}
		}
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("-svg: %w", err)
	}
	if err := errors.Join(c.write(f), f.Close()); err != nil {
		return fmt.Errorf("-svg: %w", err)
	}
	return nil
}

// fixedValue is a value of the quantity that is not on the x axis, and the words for this value in the names
// of curves.
type fixedValue struct {
	value        int
	unit, suffix string
}

// fixed returns the values of the quantity that is not on the x axis: ranks or bytes.
func (t *table) fixed(overRanks bool) []fixedValue {
	values, unit := t.o.ranks, "ranks"
	if overRanks {
		values, unit = t.o.bytes, "bytes"
	}
	all := make([]fixedValue, len(values))
	for i, v := range values {
		all[i].value, all[i].unit = v, unit
		if len(values) > 1 {
			all[i].suffix = fmt.Sprintf(", %d %s", v, unit)
		}
	}
	return all
}
