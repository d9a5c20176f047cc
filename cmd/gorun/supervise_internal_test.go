package main

import (
	"io"
	"os"
	"strconv"
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

// joinAll makes every rank of a job join it.
func joinAll(t *testing.T, j *job) {
	t.Helper()
	for rank := range j.ranks {
		card, err := bootstrap.Card{Rank: rank}.Append([]byte{1}) // the kind of the frame
		require.NoError(t, err)
		require.NoError(t, j.server.Take(rank, card))
	}
}

// The answer of a rank that was not asked counts neither as its own answer nor in place of the answer of another rank.
func TestAnswerOfARankThatWasNotAsked(t *testing.T) {
	j := hostOf(t, 8).job
	all := j.ranks
	j.ranks = all[:2]
	joinAll(t, j)
	j.ranks = all
	require.Equal(t, 2, j.ask())
	text := bootstrap.Doing{Size: 3}.Encode()
	j.reported(j.ranks[2], 1, text) // the relay of its node has passed the question on to it, too
	j.reported(j.ranks[0], 1, text)
	require.Equal(t, 1, j.watch.reports, "rank 1 has not answered")
	require.Equal(t, []int{1}, j.silent())
}

// gorun inspect does not list a rank as silent if the rank has answered, even if the launcher asks the ranks again
// because they look deadlocked.
func TestInspectionWhileRanksLookDeadlocked(t *testing.T) {
	j := hostOf(t, 8).job
	j.watch.inspectors = newInspectors()
	joinAll(t, j)
	shown := make(chan *inspection.Report, 1)
	j.watch.waiting, j.watch.hang.suspecting = []inspector{{-1, shown}}, true
	require.Equal(t, 3, j.ask())
	for _, r := range j.ranks {
		next := strconv.Itoa((r.number + 1) % 3)
		d := bootstrap.Doing{Size: 3, Stuck: 1, Waits: []bootstrap.Wait{{Op: "receive", Peer: (r.number + 1) % 3, Among: next}}}
		j.reported(r, 1, d.Encode())
	}
	require.Equal(t, 2, j.watch.question, "the ranks are asked again")
	r := <-shown
	require.Len(t, r.Doing, 3)
	require.Empty(t, r.Silent)
}
