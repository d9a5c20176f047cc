package main

import (
	"os"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// inspectors are the requests of gorun inspect, each answered once.
type inspectors struct {
	asked   chan chan<- *inspection.Report
	ended   chan struct{}
	waiting []chan<- *inspection.Report // for the reports of the ranks
	server  *inspection.Server          // nil if the job cannot be inspected
}

// recordedMost bounds the silent ranks whose last operations a report has.
const recordedMost = 64

// openInspection makes the job known to gorun inspect. Without it the job runs all the same.
func (j *job) openInspection() {
	i := &j.watch.inspectors
	i.asked, i.ended = make(chan chan<- *inspection.Report), make(chan struct{})
	var err error
	i.server, err = inspection.Listen(j.id, func() *inspection.Report {
		answer := make(chan *inspection.Report, 1)
		select {
		case i.asked <- answer:
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
	if err != nil {
		j.say("gorun inspect cannot show this job: %v", err)
	}
}

// closeInspection ends it.
func (j *job) closeInspection() {
	i := &j.watch.inspectors
	if i.server == nil {
		return
	}
	close(i.ended)
	if err := i.server.Close(); err != nil {
		j.say("gorun inspect: %v", err)
	}
}

// inspected takes a request.
func (j *job) inspected(answer chan<- *inspection.Report) {
	i := &j.watch.inspectors
	i.waiting = append(i.waiting, answer)
	if j.watch.reports == 0 && j.ask() == 0 { // else the reports that are under way do
		j.answerInspectors(nil)
	}
}

// answerInspectors answers the requests with the reports of the ranks.
func (j *job) answerInspectors(list []bootstrap.Doing) {
	i := &j.watch.inspectors
	if len(i.waiting) == 0 {
		return
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
			r.Counts = j.ranks[rank].counts(r.Counts)
			if !slices.ContainsFunc(list, func(d bootstrap.Doing) bool { return d.Rank == rank }) {
				r.Silent = append(r.Silent, rank)
				if lines := j.ranks[rank].recorded(r.Now); len(lines) > 0 && len(r.Recorded) < recordedMost {
					r.Recorded = append(r.Recorded, inspection.Recorded{Rank: rank, Lines: lines})
				}
			}
		case bootstrap.RankFinalized, bootstrap.RankGone:
			r.Ended++
		case bootstrap.RankStarted:
		}
	}
	for _, answer := range i.waiting {
		answer <- r
	}
	i.waiting = nil
}
