package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
)

var (
	ulfm   = flag.Bool("ulfm", false, "run jobs of gorun, and print a table of their medians in Markdown")
	counts = flag.String("np", "2,4,8,16,32,64", "with -ulfm: the `numbers` of ranks")
	jobs   = flag.Int("jobs", 11, "with -ulfm: `jobs` of each number of ranks, each of which loses one")
	gorun  = flag.String("gorun", "gorun", "with -ulfm: the `program` that starts the jobs")
)

// errSeries is the error for invalid values of -np or -jobs.
var errSeries = errors.New("-ulfm: want -np 2,4,... of at least two ranks each, and at least one of -jobs")

// series runs jobs of this program and writes a row for each number of ranks. A row contains the median of
// each column. iterations is the value of -i for the jobs, or 0 for their default.
func series(ctx context.Context, out io.Writer, iterations int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, text := range strings.Split(*counts, ",") {
		ranks, err := strconv.Atoi(text)
		if err != nil || ranks < 2 || *jobs < 1 {
			return errSeries
		}
		var all []osu.Result
		for range *jobs {
			c := exec.CommandContext(ctx, *gorun, "-np", text, "-on-failure", "continue", self, "-json", "-i", strconv.Itoa(iterations))
			var errs strings.Builder // gets the message about the killed rank that each job prints
			c.Stderr = &errs
			said, err := c.Output()
			var r osu.Result
			if err == nil {
				err = json.Unmarshal(said, &r)
			}
			if err == nil && len(r.Rows) != 1 {
				err = fmt.Errorf("%d rows", len(r.Rows))
			}
			if err != nil {
				return fmt.Errorf("%v: %w\n%s", c, err, errs.String())
			}
			all = append(all, r)
		}
		head := ""
		if columns := all[0].Columns; i == 0 {
			head = fmt.Sprintf("| ranks | %s |\n|---:%s|\n", strings.Join(columns, " | "), strings.Repeat("|---:", len(columns)))
		}
		if _, err := fmt.Fprintln(out, head+line(ranks, all)); err != nil {
			return err
		}
	}
	return nil
}

// line returns the row of a number of ranks.
func line(ranks int, all []osu.Result) string {
	text := fmt.Sprintf("| %d |", ranks)
	for column := range all[0].Columns {
		values := make([]float64, len(all))
		for i, r := range all {
			values[i] = r.Rows[0].Values[column]
		}
		slices.Sort(values)
		text += fmt.Sprintf(" %.0f |", values[len(values)/2])
	}
	return text
}
