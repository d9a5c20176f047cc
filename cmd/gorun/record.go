package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/printable"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// lastOperations is how many operations of each kind a report shows of a rank.
const lastOperations = 4

// mapRecord maps the memory of the rank's flight recorder in the present generation, so that gorun can read it when
// the rank cannot answer any more. Until the rank enters the present generation, a copy of the record of the
// earlier generation stands for the new record. If the mapping fails, the rank still runs, and gorun cannot read
// its recorder.
func (s *spawner) mapRecord(r *rank) {
	former := bytes.Clone(r.recordBytes())
	r.unmapRecord()
	r.former = former
	at := int64(r.local)*s.describe.NodeRange + flight.Offset
	before := at % int64(os.Getpagesize())
	m, err := unix.Mmap(int(s.memory.Fd()), at-before, int(before)+flight.Bytes, unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		r.record, r.recordAt = m, int(before)
	}
}

// mapRecords maps the records of all ranks of the node that have not ended. In a later generation, a rank that
// continues writes its record in the node memory of that generation as soon as it has entered the generation.
func (s *spawner) mapRecords() {
	for _, r := range s.node.ranks {
		if r.ended.IsZero() {
			s.mapRecord(r)
		}
	}
}

// unmapRecord unmaps the record. As long as it is mapped, the whole node memory of its generation stays allocated.
func (r *rank) unmapRecord() {
	if r.record != nil {
		_ = unix.Munmap(r.record)
	}
	r.record, r.former = nil, nil
}

// recordBytes returns the memory of the rank's flight recorder, or the copy of the earlier generation if the rank has
// not entered the present one. It returns nil if no record is mapped, for example for a remote rank.
func (r *rank) recordBytes() []byte {
	if r.record == nil {
		return nil
	}
	if _, _, err := flight.ReadCounts(r.record[r.recordAt:]); err != nil && r.former != nil {
		return r.former
	}
	return r.record[r.recordAt:]
}

// closeRecord unmaps the record of a rank that has ended. If a signal has ended the rank, closeRecord returns the
// rank's last operations. For a remote rank, the agent sends the last operations together with the end of the rank.
func (r *rank) closeRecord(x exit) []string {
	if r.record == nil {
		return x.last
	}
	var last []string
	if x.status.Signaled() {
		last = r.recorded(x.at)
	}
	r.unmapRecord()
	return last
}

// recorded returns the last operations of a rank that this process has started, a line each: first those on
// messages, then those of libraries, each from the oldest to the newest. It returns nil if there are none.
func (r *rank) recorded(now time.Time) []string {
	if r.record == nil {
		return nil
	}
	l, err := flight.Read(r.recordBytes())
	if err != nil {
		return nil
	}
	var lines []string
	for _, list := range [][]flight.Operation{l.Messages, l.Operations} {
		for _, o := range list[max(0, len(list)-lastOperations):] {
			lines = append(lines, link.Cut(printable.Text(o.Line(now))))
		}
	}
	return lines
}

// look returns the counters in the flight recorder of a rank that this process has started, and the operations and the
// state of the process if l asks for them. It returns false if no counters can be read.
func (r *rank) look(l link.Look, now time.Time) (link.Record, bool) {
	if r.record == nil {
		return link.Record{}, false
	}
	memory := r.recordBytes()
	c, at, err := flight.ReadCounts(memory)
	if err != nil {
		return link.Record{}, false
	}
	seen := link.Record{Rank: r.number, Time: at, Counts: c}
	if slices.Contains(l.Silent, r.number) {
		seen.Last, seen.Halt = r.recorded(now), haltOf(r.pid)
	}
	if slices.Contains(l.Whole, r.number) {
		if log, err := flight.Read(memory); err == nil {
			seen.Log = &log
		}
	}
	return seen, true
}

// block returns lines below a title, in the form in which gorun prints them at the end of a job. It returns
// "" if there are no lines.
func block(title string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	text := fmt.Sprintf("\n%s:", title)
	for _, line := range lines {
		text += "\n  | " + line
	}
	return text
}
