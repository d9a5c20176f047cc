package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// report is the contents of the file that -report writes. Times are in RFC 3339 form, durations in
// seconds, memory in bytes.
type report struct {
	Version  int            `json:"version"` // of this format: 1
	Job      string         `json:"job"`
	Command  []string       `json:"command"`
	Host     string         `json:"host"`
	Started  time.Time      `json:"started"`
	Seconds  float64        `json:"seconds"`
	ExitCode int            `json:"exit_code"`
	Timeout  bool           `json:"timeout"`
	Signal   string         `json:"interrupted_by,omitempty"`
	Failure  *reportFailure `json:"first_failure,omitempty"`
	Ranks    []reportRank   `json:"ranks"`
}

type reportFailure struct {
	Rank int      `json:"rank"` // -1 if no rank is to blame
	Code int      `json:"exit_code"`
	How  string   `json:"how"`
	Tail []string `json:"stderr_tail,omitempty"`
}

type reportRank struct {
	Rank          int       `json:"rank"`
	Host          string    `json:"host"`
	PID           int       `json:"pid"`
	Program       string    `json:"program"`
	Processors    string    `json:"processors"`
	ExitCode      int       `json:"exit_code"`
	Signal        string    `json:"signal,omitempty"`
	Clean         bool      `json:"clean"`
	Handled       bool      `json:"loss_handled,omitempty"` // the program has recovered from the loss
	Started       time.Time `json:"started"`
	Seconds       float64   `json:"seconds"`
	UserSeconds   float64   `json:"user_seconds"`
	SystemSeconds float64   `json:"system_seconds"`
	MaxRSSBytes   int64     `json:"max_rss_bytes"`
	// Doing is the rank's last report of blocked operations, for example after QUIT or -timeout.
	Doing *bootstrap.Doing `json:"doing,omitempty"`
}

// writeReport writes the report of a finished job, either the whole report or none.
func writeReport(j *job, code int) error {
	host := hostname()
	r := report{
		Version: 1, Job: j.id, Command: append([]string{os.Args[0]}, userArgs()...), Host: host, Started: j.started,
		Seconds: time.Since(j.started).Seconds(), ExitCode: code, Timeout: j.verdict.timeout > 0,
	}
	if j.verdict.interrupt != 0 {
		r.Signal = unix.SignalName(j.verdict.interrupt)
	}
	if f := j.verdict.first; f != nil {
		r.Failure = &reportFailure{Rank: f.rank, Code: f.code, How: f.how + f.then}
		if f.rank >= 0 {
			r.Failure.Tail = lastLines(j.out.tail(f.rank), tailLinesMax)
		}
	}
	for _, k := range j.ranks {
		one := reportRank{
			Rank: k.number, Host: k.host, PID: k.pid, Program: k.path, Processors: bootstrap.FormatRanks(k.cpus),
			ExitCode: k.code(), Clean: k.clean, Handled: k.handled, Started: k.started, Seconds: k.ended.Sub(k.started).Seconds(),
			UserSeconds: seconds(k.usage.Utime), SystemSeconds: seconds(k.usage.Stime),
			MaxRSSBytes: k.usage.Maxrss << 10, // getrusage(2) counts KiB
		}
		one.Doing = k.doing
		if k.status.Signaled() {
			one.Signal = unix.SignalName(k.status.Signal())
		}
		r.Ranks = append(r.Ranks, one)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	// The temporary name is short: a report may have the longest name that its file system allows.
	f, err := createFile(filepath.Join(filepath.Dir(j.opts.report), "gorun-report."+j.id))
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), j.opts.report)
	}
	if err != nil {
		return fmt.Errorf("-report: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// checkReport returns the reason why a report cannot be written to a file, or nil. It is called
// before the job starts.
func checkReport(name string) error {
	err := replaceable(name)
	if dir := filepath.Dir(name); err == nil {
		if err = unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			err = fmt.Errorf("directory %s: %w", dir, err)
		}
	}
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	return nil
}

func seconds(t unix.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
