package main

import (
	"errors"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// inspector is a request of gorun inspect. It gets one answer, or none if the job ends first.
type inspector struct {
	rank   int // rank of which all recorded operations are requested, -1 for no rank
	answer chan<- *inspection.Report
}

// inspectors has the requests of gorun inspect. Only the goroutine that supervises the job uses the
// fields that are not channels.
type inspectors struct {
	asked   chan inspector     // new requests
	ended   chan struct{}      // closed by closeInspection
	waiting []inspector        // requests that wait for the reports of the ranks
	server  *inspection.Server // nil if the job cannot be inspected
	// draft is the report to which hosts still have to add the records of their ranks. It is nil if there is no
	// such report. looking has the requests that wait for the draft. look is the question to the hosts, and
	// missing is the number of hosts that have not answered the question. logs has the operations of the ranks
	// in look.Whole, by rank.
	draft   *inspection.Report
	looking []inspector
	look    link.Look
	missing int
	logs    map[int]*inspection.Log
	lookEnd <-chan time.Time // fires when lookMost has passed since the question
	seen    chan link.Seen   // answers of the hosts
}

const (
	// recordedMost is the largest number of ranks without an answer whose last operations are in a report.
	recordedMost = 64
	// lookMost is the longest time for which gorun waits for the answers of the hosts' agents.
	lookMost = 2 * time.Second
)

func newInspectors() inspectors {
	return inspectors{asked: make(chan inspector), ended: make(chan struct{}), seen: make(chan link.Seen)}
}

// openInspection makes the job accessible to gorun inspect. If that fails, the job runs without it.
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
	case errors.Is(err, inspection.ErrDirectory): // a warning, because another user may have made the directory
		complain("gorun inspect cannot show this job: %v", err)
	case err != nil:
		j.say("gorun inspect cannot show this job: %v", err)
	}
}

// closeInspection ends the access of gorun inspect to the job. It does not answer the requests that wait.
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

// inspected records a request and asks the ranks for reports.
func (j *job) inspected(q inspector) {
	i := &j.watch.inspectors
	i.waiting = append(i.waiting, q)
	if j.watch.reports == 0 && j.ask() == 0 { // reports that are under way serve this request, too
		j.answerInspectors(nil)
	}
}

// answerInspectors prepares the answer to the waiting requests. The answer contains the reports of the ranks (the
// argument list) and data of the flight recorders. answerInspectors asks the hosts for the contents of the recorders
// of their ranks. The answer is sent by lookEnded.
func (j *job) answerInspectors(list []bootstrap.Doing) {
	i := &j.watch.inspectors
	if len(i.waiting) == 0 {
		return
	}
	if i.draft != nil {
		j.lookEnded()
	}
	r := &inspection.Report{
		Job: j.id, Command: append([]string{"gorun"}, userArgs()...), Host: hostname(), Started: j.started, Now: time.Now(),
		Ranks: len(j.ranks), Generation: j.server.Generation(), Doing: list, Silent: j.silent(),
	}
	for rank := range j.ranks {
		switch j.server.State(rank) {
		case bootstrap.RankJoined:
			r.Joined++
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

// askRecords adds the records of the ranks on this machine to the draft, and asks the hosts for the records
// of their ranks.
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

// recorded adds the answer of a host to the draft.
func (j *job) recorded(s link.Seen) {
	i := &j.watch.inspectors
	if i.draft == nil || s.Number != i.look.Number {
		return // the answer to an earlier question
	}
	for _, r := range s.Records {
		j.record(r)
	}
	if i.missing--; i.missing == 0 {
		j.lookEnded()
	}
}

// record adds the record of a rank to the draft.
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

// lookEnded answers the requests with the draft, without the records of hosts that have not answered.
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
