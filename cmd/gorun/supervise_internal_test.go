package main

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// An answer of a rank counts only for the question that it answers. Only the first answer of each rank
// counts.
func TestQuestionsAreToldApart(t *testing.T) {
	j := hostOf(t, 3).job
	for _, rank := range []int{0, 2} {
		card, err := bootstrap.Card{Rank: rank}.Append([]byte{1}) // the kind of the frame
		require.NoError(t, err)
		require.NoError(t, j.server.Take(rank, card))
	}
	shown := make(chan *inspection.Report, 1)
	answer := func(rank, question int, what string) {
		d := bootstrap.Doing{Size: 3, Waits: []bootstrap.Wait{{Op: what}}}
		j.handle(news{Event: bootstrap.Event{Kind: bootstrap.EventReport, Rank: rank, Code: question, Text: d.Encode()}})
	}
	j.watch.waiting = append(j.watch.waiting, inspector{-1, shown})
	require.Equal(t, 2, j.ask())
	answer(0, 1, "old")
	j.signaled(unix.SIGQUIT)
	answer(2, 1, "old")
	require.Empty(t, shown, "answers to question 1 do not count for question 2")
	answer(0, 2, "new")
	answer(0, 2, "again")
	answer(2, 3, "of a question that nobody has asked")
	require.Empty(t, shown, "rank 2 has not answered")
	answer(2, 2, "new")
	r := <-shown
	require.Len(t, r.Doing, 2)
	for _, d := range r.Doing {
		require.Equal(t, "new", d.Waits[0].Op)
	}
	require.True(t, j.watch.late, "the user has asked")
	answer(2, 1, "old")
	require.Zero(t, j.watch.reports)
	require.Equal(t, "new", j.ranks[2].doing.Waits[0].Op)
}

// If the user has asked, an answer that comes after the wait is shown. If gorun itself has asked, such an
// answer is not shown.
func TestLateAnswers(t *testing.T) {
	said := func(quit bool) string {
		j := hostOf(t, 3).job
		card, err := bootstrap.Card{}.Append([]byte{1}) // the kind of the frame
		require.NoError(t, err)
		require.NoError(t, j.server.Take(0, card))
		r, w, err := os.Pipe()
		require.NoError(t, err)
		own := os.Stderr
		os.Stderr = w
		if quit {
			j.signaled(unix.SIGQUIT)
		} else {
			require.Equal(t, 1, j.ask())
		}
		j.dumpEnded() // the wait for answers ends
		d := bootstrap.Doing{Size: 3, Waits: []bootstrap.Wait{{Op: "late"}}}
		j.handle(news{Event: bootstrap.Event{Kind: bootstrap.EventReport, Code: 1, Text: d.Encode()}})
		require.Equal(t, "late", j.ranks[0].doing.Waits[0].Op, "it is in -report")
		os.Stderr = own
		require.NoError(t, w.Close())
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		return string(text)
	}
	require.Contains(t, said(true), "rank 0 of 3")
	require.Empty(t, said(false))
}
