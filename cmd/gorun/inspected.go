package main

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// inspector is a request of gorun inspect, which is answered once.
type inspector struct {
	rank   int // all of whose operations are wanted, -1 for none
	answer chan<- *inspection.Report
}

// inspectors are the requests of gorun inspect.
type inspectors struct {
	asked   chan inspector
	ended   chan struct{}
	waiting []inspector        // for the reports of the ranks
	server  *inspection.Server // nil if the job cannot be inspected
	// draft is the report that lacks the records of ranks on hosts, nil for none. looking have asked for
	// it, look is the question to the hosts, missing how many of them have not answered, logs are by rank.
	draft   *inspection.Report
	looking []inspector
	look    link.Look
	missing int
	logs    map[int]*inspection.Log
	lookEnd <-chan time.Time // no longer wait for the hosts
	seen    chan link.Seen   // their answers
}

const (
	// recordedMost bounds the silent ranks whose last operations a report has.
	recordedMost = 64
	// lookMost bounds the wait for the records of hosts.
	lookMost = 2 * time.Second
)

func newInspectors() inspectors {
	return inspectors{asked: make(chan inspector), ended: make(chan struct{}), seen: make(chan link.Seen)}
}

// openInspection makes the job known to gorun inspect. Without it the job runs all the same.
func (j *job) openInspection() {
	i := &j.watch.inspectors
	var err error
	i.server, err = inspection.Listen(j.id, func(rank int) *inspection.Report {
		answer := make(chan *inspection.Report, 1)
		select {
		case i.asked <- inspector{rank, answer}:
		case <-i.ended:
			return nil
		}
		select {
		case r := <-answer:
			return r
		case <-i.ended:
			return nil
		}
	})
	switch {
	case errors.Is(err, inspection.ErrDirectory): // somebody else may have made it
		complain("gorun inspect cannot show this job: %v", err)
	case err != nil:
		j.say("gorun inspect cannot show this job: %v", err)
	}
}

// closeInspection ends it.
func (j *job) closeInspection() {
	i := &j.watch.inspectors
	close(i.ended)
	if i.server == nil {
		return
	}
	if err := i.server.Close(); err != nil {
		j.say("gorun inspect: %v", err)
	}
}

// inspected takes a request.
func (j *job) inspected(q inspector) {
	i := &j.watch.inspectors
	i.waiting = append(i.waiting, q)
	if j.watch.reports == 0 && j.ask() == 0 { // else the reports that are under way do
		j.answerInspectors(nil)
	}
}

// answerInspectors answers the requests with the reports of the ranks, and with what the flight recorders
// have: those of hosts are asked for.
func (j *job) answerInspectors(list []bootstrap.Doing) {
	i := &j.watch.inspectors
	if len(i.waiting) == 0 {
		return
	}
	if i.draft != nil {
		j.lookEnded()
	}
	args := os.Args[1:]
	if len(args) > 1 && args[0] == insideCommand {
		args = args[2:]
	}
	r := &inspection.Report{
		Job: j.id, Command: append([]string{"gorun"}, args...), Host: hostname(), Started: j.started, Now: time.Now(),
		Ranks: len(j.ranks), Doing: list,
	}
	for rank := range j.ranks {
		switch j.server.State(rank) {
		case bootstrap.RankJoined:
			r.Joined++
			asked := j.ranks[rank].asked == j.watch.question // else it has joined since
			if asked && !slices.ContainsFunc(list, func(d bootstrap.Doing) bool { return d.Rank == rank }) {
				r.Silent = append(r.Silent, rank)
			}
		case bootstrap.RankFinalized, bootstrap.RankGone:
			r.Ended++
		case bootstrap.RankStarted:
		}
	}
	i.look = link.Look{Number: i.look.Number + 1, Silent: r.Silent[:min(len(r.Silent), recordedMost)]}
	for _, q := range i.waiting {
		if q.rank >= 0 {
			i.look.Whole = append(i.look.Whole, q.rank)
		}
	}
	i.draft, i.looking, i.waiting, i.logs = r, i.waiting, nil, map[int]*inspection.Log{}
	j.askRecords()
}

// askRecords asks for the records of all ranks.
func (j *job) askRecords() {
	i := &j.watch.inspectors
	for _, r := range j.ranks {
		if seen, any := r.look(i.look, i.draft.Now); any {
			j.record(seen)
		}
	}
	i.missing = 0
	for _, h := range j.hosts {
		if h.conn != nil && h.reason() == nil && slices.ContainsFunc(h.all(), (*rank).running) {
			h.conn.Send(link.KindLook, link.Encode(i.look))
			i.missing++
		}
	}
	if i.missing == 0 {
		j.lookEnded()
		return
	}
	i.lookEnd = time.After(lookMost)
}

// recorded takes the answer of a host.
func (j *job) recorded(s link.Seen) {
	i := &j.watch.inspectors
	if i.draft == nil || s.Number != i.look.Number {
		return // of an earlier question
	}
	for _, r := range s.Records {
		j.record(r)
	}
	if i.missing--; i.missing == 0 {
		j.lookEnded()
	}
}

// record puts the record of a rank into the draft.
func (j *job) record(seen link.Record) {
	i := &j.watch.inspectors
	if seen.Log != nil {
		i.logs[seen.Rank] = &inspection.Log{Rank: seen.Rank, Log: *seen.Log}
	}
	if j.server.State(seen.Rank) != bootstrap.RankJoined {
		return
	}
	i.draft.Counts = append(i.draft.Counts, inspection.Counts{Rank: seen.Rank, Time: seen.Time, Counts: seen.Counts})
	if r := j.ranks[seen.Rank]; seen.Halt != "" {
		i.draft.Halted = append(i.draft.Halted, inspection.Halted{Rank: seen.Rank, PID: r.pid, Host: r.host, State: seen.Halt})
	}
	if len(seen.Last) > 0 {
		i.draft.Recorded = append(i.draft.Recorded, inspection.Recorded{Rank: seen.Rank, Lines: seen.Last})
	}
}

// lookEnded answers with the draft. Hosts that have not answered are left out.
func (j *job) lookEnded() {
	i := &j.watch.inspectors
	r := i.draft
	slices.SortFunc(r.Counts, func(a, b inspection.Counts) int { return a.Rank - b.Rank })
	slices.SortFunc(r.Recorded, func(a, b inspection.Recorded) int { return a.Rank - b.Rank })
	slices.SortFunc(r.Halted, func(a, b inspection.Halted) int { return a.Rank - b.Rank })
	for _, q := range i.looking {
		own := *r
		own.Log = i.logs[q.rank]
		q.answer <- &own
	}
	i.draft, i.looking, i.lookEnd = nil, nil, nil
}
