package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/printable"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/viewer"
)

// inspectWord as the first argument makes gorun show what the job of another gorun is doing.
const inspectWord = "inspect"

const inspectUsage = `usage: gorun inspect [-json] [-watch | -last RANK] [JOB]

Shows what the ranks of a job are doing, in at most 40 lines: a sentence that says what each
rank waits for, at which line of the program, and for which rank; then the ranks, grouped by
what they do. The gorun of the job must run on this machine and belong to this user (root can
also show the job of another user, by its full name). JOB is the name of the job, which
gorun -v prints, or the beginning of the name. JOB is not needed if this user has only one job.

flags:
  -json   print the whole report as JSON, with the counters of each rank
  -watch  once a second until the job ends: the sentence, and a table of ranks with their state,
          the messages and bytes per second that each sends and receives, the part of the time
          in which at least one of its goroutines waits, the bytes of messages that wait for
          their receives, and where it is. In the first second, after a restart of ranks, and
          for ranks of a host that does not answer, the table has "-" in place of rates.
          Messages of collective operations do not count. The states are computing, waiting,
          finished (it has left the program's function), stopped (by a signal), debugged (stopped
          by a debugger), kernel (it waits in the kernel), and silent (it does not answer).
          On a terminal the table stays in place, under the sentence, and has keys:
            arrows, page, home, end   move the selection, or scroll the table sideways
            r s m b w u               sort by rank, state, messages, bytes, waiting,
                                      unexpected; again: in reverse order
            enter                     the last operations of the selected rank, until Esc
            q, Esc, Ctrl-C            end
          The last table stays on the terminal. There are no colors if NO_COLOR is set. If the
          output is no terminal (or with TERM=dumb), each table is printed below the one before;
          with more than 30 ranks, it has the 30 that wait most. With -json, each report is a line.
  -last RANK
          the last operations of this rank, up to 256 on messages and 256 of libraries (such as
          collective operations), the newest last: since when each is in its state, the peer or
          root, the tag or the number of the call, the bytes, the communicator, and the line of
          the program if it is known. The rank may be stopped. With -json, as JSON.
`

// watchPeriod is the time between two reports of -watch, if watchOnScreen does not show them.
const watchPeriod = time.Second

// inspectFlags has the flags of gorun inspect.
type inspectFlags struct {
	json, watching bool
	last           int // rank of -last, -1 for none
}

// runInspect executes gorun inspect and returns the exit code.
func runInspect(args []string, out *os.File) int {
	f := inspectFlags{last: -1}
	var wanted []string
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		name, value, inline := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		switch {
		case !isFlag:
			wanted = append(wanted, args[i])
		case name == "json" && !inline:
			f.json = true
		case name == "watch" && !inline:
			f.watching = true
		case name == "last":
			if i++; !inline && i < len(args) {
				value = args[i]
			} else {
				i--
			}
			var err error
			if f.last, err = strconv.Atoi(value); err != nil || f.last < 0 {
				complain("inspect: -last takes the number of a rank, not %q", value)
				return exitLauncher
			}
		case (name == "h" || name == "help") && !inline:
			return show(out, inspectUsage)
		default:
			complain("inspect: unknown flag %s (gorun inspect -h lists the flags)", args[i])
			return exitLauncher
		}
	}
	var err error
	switch {
	case len(wanted) > 1:
		err = errors.New("one job at a time")
	case f.last >= 0 && f.watching:
		err = errors.New("-last and -watch exclude each other")
	default:
		err = inspect(strings.Join(wanted, ""), f, out)
	}
	if err != nil {
		complain("inspect: %v", err)
		return exitLauncher
	}
	return 0
}

// inspect prints what f asks for about the job whose name begins with the argument start.
func inspect(start string, f inspectFlags, out *os.File) error {
	c, err := dialJob(start)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if f.last >= 0 {
		return showLast(c, f, out)
	}
	if f.watching && !f.json && isScreen(out) {
		return watchOnScreen(c, out)
	}
	v := view{out: out, json: f.json, watching: f.watching}
	for {
		r, err := c.Report(-1)
		if v.before != nil && errors.Is(err, inspection.ErrNoJob) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := v.show(r); err != nil || !f.watching {
			return err
		}
		time.Sleep(watchPeriod)
	}
}

// isScreen reports whether out is a terminal on which a table can be updated in place.
func isScreen(out *os.File) bool {
	return isTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
}

// watchOnScreen shows the job in a table that it updates in place, until the job ends or the user quits.
func watchOnScreen(c *inspection.Client, out *os.File) error {
	first, err := c.Report(-1)
	if err != nil {
		return err
	}
	in := os.Stdin
	if !isTerminal(int(in.Fd())) {
		in = nil
	}
	return viewer.Run(first, c.Report, in, out)
}

// showLast prints the last operations of one rank.
func showLast(c *inspection.Client, f inspectFlags, out *os.File) error {
	r, err := c.Report(f.last)
	switch {
	case err != nil:
		return err
	case f.last >= r.Ranks:
		return fmt.Errorf("the job has ranks 0 to %d", r.Ranks-1)
	case r.Log == nil:
		return fmt.Errorf("nothing is recorded of rank %d: it has not joined, has ended, or is of another version of gorun, or its host does not answer", f.last)
	}
	if f.json {
		return json.NewEncoder(out).Encode(r.Log)
	}
	_, err = io.WriteString(out, printable.Text(r.Log.Table()))
	return err
}

// view prints reports.
type view struct {
	out            *os.File
	json, watching bool
	before         *inspection.Report // the previous report, nil for none
}

// show prints a report.
func (v *view) show(r *inspection.Report) error {
	before := v.before
	v.before = r
	if v.watching && !v.json && r.Ended == r.Ranks && before != nil {
		return nil // all ranks have ended; the previous table says more, because it has the ranks that ran then
	}
	var text string
	switch {
	case v.json:
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text = string(line) + "\n"
	case v.watching:
		if text = printable.Text(r.Table(before)); before != nil {
			text = "\n" + text
		}
	default:
		text = printable.Text(r.Text())
	}
	_, err := io.WriteString(v.out, text)
	return err
}

// dialJob connects to the job of this user that chooseJob returns. If no job of this user matches, dialJob
// connects to another user's job, whose full name is the argument start. Root may inspect such a job.
func dialJob(start string) (*inspection.Client, error) {
	jobs, failed := inspection.Jobs()
	job, err := chooseJob(jobs, start)
	if err == nil {
		return inspection.Dial(job)
	}
	if several, ok := errors.AsType[*choiceError](err); ok {
		return nil, several.described()
	}
	c, failure := inspection.Dial(start)
	if errors.Is(failure, inspection.ErrNoJob) {
		return nil, errors.Join(err, failed)
	}
	return c, failure
}

// chooseJob returns the job whose name is the argument start, or the only job whose name begins with it.
func chooseJob(jobs []string, start string) (string, error) {
	if slices.Contains(jobs, start) {
		return start, nil
	}
	fit := slices.DeleteFunc(slices.Clone(jobs), func(job string) bool { return !strings.HasPrefix(job, start) })
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(jobs) == 0:
		return "", fmt.Errorf("no job of this user is found on this machine: none has a socket in %s", strings.Join(inspection.Directories(), ", "))
	case len(fit) == 0:
		return "", fmt.Errorf("%w as %s; there are %s", inspection.ErrNoJob, start, strings.Join(jobs, ", "))
	default:
		return "", &choiceError{fit}
	}
}
