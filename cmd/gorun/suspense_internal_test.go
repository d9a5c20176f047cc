package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// orders is a job with ranks 0 and 2 on host a and rank 1 on host b. A test determines which reports gorun
// gets, and in which order. The ranks are not processes.
type orders struct {
	*job
	b *host
}

func newOrders(t *testing.T, onFailure string) *orders {
	t.Helper()
	j := hostOf(t, 16).job
	j.opts.onFailure, j.watch.running = onFailure, len(j.ranks)
	b := &host{job: j, name: "b", ranks: j.ranks[1:2], conn: link.NewConn(bufio.NewReader(bytes.NewReader(link.AppendFrame(nil, link.KindBeat))), io.Discard)}
	j.ranks[1].remote = b
	j.server.Link([]int{1}, io.Discard)
	return &orders{j, b}
}

// ends reports that a rank has ended with a status. lost is the rank whose loss the ended rank has named as
// the reason, or -1 if it has named no rank.
func (o *orders) ends(rank int, status syscall.WaitStatus, lost int) {
	r := o.ranks[rank]
	if lost >= 0 {
		o.handle(news{Event: bootstrap.Event{Kind: bootstrap.EventFailed, Rank: rank, Origin: rank, Lost: lost, Text: "lost"}})
	}
	close(r.served)
	o.reaped(exit{rank: r, at: time.Now(), status: status})
}

const (
	exited = syscall.WaitStatus(1 << 8)
	killed = syscall.WaitStatus(9)
)

// For each of these orders of reports, the failure that has caused the other failures counts. If no cause is known, the
// first failure counts. The job does not end before the last report.
func TestVerdictInEveryOrder(t *testing.T) {
	for name, c := range map[string]struct {
		mode       string
		hear       []func(o *orders) // the job goes on after each report except the last one
		rank, code int
	}{
		"the cause first": {"", []func(*orders){
			func(o *orders) { o.ends(1, killed, -1) },
		}, 1, 137},
		"the cause last": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) { o.ends(1, killed, -1) },
		}, 1, 137},
		"the cause of the cause": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) { o.ends(1, exited, 2) },
			func(o *orders) { o.ends(2, killed, -1) },
		}, 2, 137},
		"the cause of the cause before that": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) { o.ends(2, killed, -1) },
			func(o *orders) { o.ends(1, exited, 2) },
		}, 2, 137},
		"another that names nobody": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) { o.ends(2, exited, -1) },
			func(o *orders) { o.ends(1, killed, -1) },
		}, 1, 137},
		"another that aborts": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) {
				o.handle(news{Event: bootstrap.Event{Kind: bootstrap.EventAborted, Rank: 2, Code: 9}})
			},
			func(o *orders) { o.ends(1, killed, -1) },
		}, 1, 137},
		"the cause aborts": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) {
				o.handle(news{Event: bootstrap.Event{Kind: bootstrap.EventAborted, Rank: 1, Code: 9}})
			},
		}, 1, 9},
		"each other": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) { o.ends(1, exited, 0) },
		}, 0, 1},
		"one that ends in order": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) { o.ends(1, 0, -1) },
		}, 0, 1},
		"one that has left": {"", []func(*orders){
			func(o *orders) {
				require.NoError(t, o.server.Take(1, []byte{4})) // finalize
				o.ends(0, exited, 1)
			},
		}, 0, 1},
		"one that is lost with its host": {"", []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
			func(o *orders) {
				o.b.why = errors.New("gone")
				close(o.ranks[1].served)
				o.lostHost(o.b)
			},
		}, -1, exitLauncher},
		"one that would be started again": {bootstrap.OnFailureRespawn, []func(*orders){
			func(o *orders) { o.ends(0, exited, 1) },
		}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if c.mode == "" {
				c.mode = bootstrap.OnFailureKill
			}
			o := newOrders(t, c.mode)
			for i, next := range c.hear {
				require.False(t, o.watch.ending, "event %d", i)
				require.NotEqual(t, bootstrap.RankGone, o.server.State(0), "the others would name rank 0")
				next(o)
			}
			require.True(t, o.watch.ending)
			require.Nil(t, o.watch.suspense.late)
			for _, r := range o.ranks {
				require.Equal(t, !r.ended.IsZero(), o.server.State(r.number) == bootstrap.RankGone, "rank %d", r.number)
			}
			o.verdict.decide()
			require.Equal(t, c.rank, o.verdict.first.rank)
			require.Equal(t, c.code, o.verdict.code())
		})
	}
}

// If the other ranks continue after a failure, gorun does not wait for the cause. A loss from which the
// program has recovered does not count. A failure that such a loss has caused does count.
func TestCauseWhereTheOthersGoOn(t *testing.T) {
	for handled, want := range map[bool][]int{false: {1, 137}, true: {0, 1}} {
		o := newOrders(t, bootstrap.OnFailureContinue)
		o.ends(0, exited, 1)
		require.Equal(t, bootstrap.RankGone, o.server.State(0))
		o.ends(1, killed, -1)
		require.Equal(t, bootstrap.RankGone, o.server.State(1))
		require.False(t, o.watch.ending)
		o.ranks[1].handled = handled
		o.verdict.decide()
		require.Equal(t, want, []int{o.verdict.first.rank, o.verdict.code()})
	}
}

// gorun waits for the end of a named rank only for a limited time. The time is causeDelay, or causeDelay plus
// link.Silence if the agent of the named rank is silent.
func TestNamedRankIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, silent := range []bool{false, true} {
			o, began := newOrders(t, bootstrap.OnFailureKill), time.Now()
			o.ends(0, exited, 1)
			if !silent {
				_, _, err := o.b.conn.Receive()
				require.ErrorIs(t, err, io.EOF, "after a beat")
			}
			time.Sleep(causeDelay / 2) // virtual time
			o.ends(2, exited, 1)       // the wait does not begin again
			for !o.watch.ending {
				<-o.watch.suspense.late
				o.suspenseLate()
			}
			most := causeDelay
			if silent {
				most += link.Silence
			}
			require.Equal(t, most, time.Since(began))
			require.Equal(t, bootstrap.RankGone, o.server.State(0))
			o.verdict.decide()
			require.Equal(t, 0, o.verdict.first.rank)
			require.Equal(t, 1, o.verdict.code())
			synctest.Wait()
		}
	})
}
