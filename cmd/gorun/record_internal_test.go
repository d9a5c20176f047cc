package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// recorderOf returns a recorder in the node memory from which gorun maps the rank's record.
func recorderOf(t *testing.T, memory *os.File) *flight.Recorder {
	t.Helper()
	m, err := unix.Mmap(int(memory.Fd()), 0, flight.Offset+flight.Bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(m)) })
	return flight.New(m[flight.Offset:])
}

// Until a rank enters a new generation, gorun shows what the rank has recorded in the previous generation. Afterwards
// gorun shows what the rank records in the new generation. Records of ranks that have ended are not mapped again.
func TestRecordOfARankBetweenGenerations(t *testing.T) {
	r, gone := &rank{}, &rank{local: 1, ended: time.Now()}
	s := &spawner{node: &node{ranks: []*rank{r, gone}}}
	s.describe.NodeRange = 2 << 20
	generation := func() *os.File {
		fd, err := unix.MemfdCreate("node", unix.MFD_CLOEXEC)
		require.NoError(t, err)
		f := os.NewFile(uintptr(fd), "node")
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		require.NoError(t, f.Truncate(2*s.describe.NodeRange))
		s.memory = f
		s.mapRecords()
		require.Nil(t, gone.record)
		return f
	}
	first := recorderOf(t, generation())
	require.Empty(t, r.recorded(time.Now()))
	first.Moved(first.Text("first send"), 1, 1, 7, 8)
	require.Contains(t, r.recorded(time.Now())[0], "first send")

	later := generation()
	require.Contains(t, r.recorded(time.Now())[0], "first send", "the rank has not entered")
	second := recorderOf(t, later)
	require.Empty(t, r.recorded(time.Now()))
	second.Moved(second.Text("second send"), 1, 1, 7, 8)
	require.Contains(t, r.recorded(time.Now())[0], "second send")
	r.unmapRecord()
	require.Empty(t, r.recorded(time.Now()))
}

// The last operations of a rank that has damaged the texts of its record fit into the frames of an agent.
func TestLastOperationsFitIntoFrames(t *testing.T) {
	texts := []string{strings.Repeat("\x01", 64), strings.Repeat("\xff", 64), strings.Repeat("\u202e", 64), strings.Repeat("x", 64)}
	for shift := range 14 { // some of these lines are cut within a character
		texts = append(texts, strings.Repeat("x", shift)+strings.Repeat("\x01\x01\x01é", 64))
	}
	for _, text := range texts {
		memory := make([]byte, flight.Bytes)
		recorder := flight.New(memory)
		long := recorder.Text(text)
		place := flight.Site(long)<<8 | flight.Site(long)
		recorder.Waiting(recorder.Begin(long, 0, 1, 2, 3), place)
		recorder.Start(flight.NewCall(long, 0, 1), 2, 3, place)
		r := &rank{record: memory}
		lines := r.recorded(time.Now())
		require.Len(t, lines, 2)
		got, err := link.Decode[link.Exit](link.Encode(link.Exit{Status: 11, Last: lines}))
		require.NoError(t, err)
		require.Equal(t, lines, got.Last)
	}
}
