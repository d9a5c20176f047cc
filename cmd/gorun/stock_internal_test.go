package main

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// A rank and the spare that is promised to it may end together, for example because the kernel has killed both. The
// launcher then starts one spare, not more than the host has slots for.
func TestPromisedSpareEnds(t *testing.T) {
	o := &options{apps: []app{{program: "x"}}, spares: 1, restarts: 3, onFailure: "respawn"}
	j := &job{opts: o}
	var sent strings.Builder
	conn := link.NewConn(bufio.NewReader(strings.NewReader("")), &sent)
	h := &host{job: j, name: "a", slots: 3, conn: conn}
	for i := range 2 {
		j.ranks = append(j.ranks, &rank{number: i, app: &o.apps[0], remote: h, host: "a"})
	}
	h.ranks, j.hosts, j.kept = j.ranks, []*host{h}, []*host{h}
	h.count(&o.apps[0], 1)
	lost := j.ranks[1]
	require.NoError(t, j.house([]*rank{lost}))
	require.True(t, lost.promised)
	lost.starting = true
	j.missed(absence{h, link.SpareEnded{Text: "it was killed"}})
	j.begun(renewal{host: h, Renewed: link.Renewed{Ranks: []link.Restarted{{Number: 1, Process: link.Process{PID: 7}}}}})
	require.Equal(t, 1, h.waiting())
	require.Zero(t, h.room())
	require.NoError(t, conn.Flush())
	frames := bufio.NewReader(strings.NewReader(sent.String()))
	k, _, err := link.ReadFrame(frames)
	require.NoError(t, err)
	require.Equal(t, link.KindSpare, k)
	_, _, err = link.ReadFrame(frames)
	require.ErrorIs(t, err, io.EOF, "one spare is ordered")

	// A spare that is not promised ends while another one is promised.
	h.count(&o.apps[0], 1)
	h.slots = 4
	require.NoError(t, j.house([]*rank{lost}))
	h.forgo(&o.apps[0])
	require.True(t, lost.promised)
	require.Zero(t, h.waiting())
}
