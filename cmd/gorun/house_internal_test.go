package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// A rank of a lost host gets a spare process of its program. If there is no such spare, it gets a free slot.
// Slots of spares of other programs are not free.
func TestLettings(t *testing.T) {
	one, two := &app{}, &app{}
	h := &host{slots: 4, spares: map[*app]int{one: 1, two: 1}}
	roomy := &host{slots: 2}
	full := &host{slots: 1, ranks: []*rank{{}}}
	lost := &host{}
	homes := func(programs ...*app) (all []*host) {
		taken := lettings{}
		for _, a := range programs {
			r := &rank{app: a, remote: lost}
			home := taken.best([]*host{full, roomy, h}, r)
			if home != nil {
				taken.let(home, r)
			}
			all = append(all, home)
		}
		return all
	}
	require.Equal(t, []*host{h, h}, homes(one, two))
	require.Equal(t, []*host{h, roomy, h, roomy, h, nil}, homes(one, one, one, one, one, one), "two's spare keeps its slot")
	cold := &rank{app: one, remote: lost, cold: true}
	require.Equal(t, h, lettings{}.best([]*host{h}, cold), "a rank that must not use a spare gets a free slot")
	h.slots = 2
	require.Nil(t, lettings{}.best([]*host{h}, cold), "the slots are those of spares")
}

// On one machine, the number of spares is at most the number of restarts that are left. On several hosts, the
// number of spares is the requested number, until no restart is left.
func TestTarget(t *testing.T) {
	for _, tc := range []struct{ restarts, count, spares, here, hosts int }{{5, 0, 2, 2, 2}, {5, 4, 2, 1, 2}, {5, 5, 2, 0, 0}, {1, 0, 3, 1, 3}} {
		j := &job{opts: &options{restarts: tc.restarts, spares: tc.spares}, restarts: restarts{count: tc.count}}
		require.Equal(t, tc.here, j.target(), "%+v", tc)
		j.hosts = []*host{{}}
		require.Equal(t, tc.hosts, j.target(), "%+v", tc)
	}
}

// respawning returns a job with ranks 0 and 2 on host a, and rank 1 on host b. The job starts lost ranks again.
func respawning(t *testing.T) (j *job, a, b *host) {
	t.Helper()
	a = hostOf(t, 16)
	j = a.job
	j.opts.onFailure, j.opts.restarts, j.opts.apps, j.watch.running = bootstrap.OnFailureRespawn, restartsDefault, []app{{}}, len(j.ranks)
	j.server = bootstrap.NewServer(3, j.observe)
	a.slots, a.conn = 4, link.NewConn(bufio.NewReader(bytes.NewReader(nil)), io.Discard)
	b = &host{job: j, name: "b", slots: 4, ranks: j.ranks[1:2], conn: a.conn, input: newWindow()}
	for _, r := range j.ranks {
		r.app = &j.opts.apps[0]
	}
	j.ranks[1].remote = b
	j.out.addRemote(j.ranks[1], false, func(stream, int) {})
	j.hosts = []*host{a, b}
	j.kept = j.hosts
	for _, h := range j.hosts {
		h.way, h.readDone = j.server.Link(h.numbers(), io.Discard), make(chan struct{})
	}
	return j, a, b
}

// A rank is started again after another host was lost, and before the launcher handles that loss. The ranks of that
// host are started again afterwards.
func TestRestartWhileAnotherHostIsLost(t *testing.T) {
	j, a, b := respawning(t)
	b.lose(errors.New("gone"))
	close(b.readDone)
	close(j.ranks[0].served)
	j.reaped(exit{rank: j.ranks[0], at: time.Now(), status: killed})
	require.Equal(t, 1, j.server.Generation())
	require.True(t, j.ranks[0].starting)
	j.lostHost(b)
	require.Equal(t, 2, j.server.Generation())
	require.Same(t, a, j.ranks[1].remote)
	require.False(t, j.watch.ending)
	require.Equal(t, 3, j.watch.running)
}

// If a host cannot start a rank again, the end of its last process counts as the end of the rank, and the job ends.
func TestHostThatCannotStartARank(t *testing.T) {
	j, a, _ := respawning(t)
	close(j.ranks[0].served)
	before := time.Now()
	j.reaped(exit{rank: j.ranks[0], at: before, status: killed})
	require.Equal(t, 3, j.watch.running)
	j.begun(renewal{a, time.Now(), link.Renewed{Failed: &link.Failed{Code: exitNotFound, Text: "no such file"}}})
	r := j.ranks[0]
	require.False(t, r.running())
	require.Equal(t, 2, j.watch.running)
	require.Equal(t, []any{noProcess, before, killed, 0}, []any{r.pid, r.ended, r.status, r.epoch})
	require.True(t, j.watch.ending)
	require.Equal(t, bootstrap.RankGone, j.server.State(0))
	require.Equal(t, exitNotFound, j.verdict.code())
}

// If the generation in which a rank would be started again does not begin, the end of its last process counts as the
// end of the rank. A later loss of its host does not count this end again.
func TestGenerationThatDoesNotBegin(t *testing.T) {
	j, a, _ := respawning(t)
	r := j.ranks[0]
	r.ended, r.status = time.Now(), killed
	j.watch.running--
	require.NoError(t, j.server.Take(1, []byte{4})) // finalize, after the launcher has checked that no rank has left
	require.Error(t, j.restart([]*rank{r}, "rank 0"))
	require.False(t, r.running())
	require.Equal(t, []any{noProcess, killed, 0}, []any{r.pid, r.status, len(r.before)})
	a.lose(errors.New("gone"))
	require.Equal(t, []*rank{j.ranks[2]}, j.strand(a))
	require.Equal(t, 1, j.watch.running)
}

// If the generation does not begin, a spare that has already replaced the lost rank counts as a running rank until
// the spare ends.
func TestSpareInAGenerationThatDoesNotBegin(t *testing.T) {
	j := hostOf(t, 16).job
	j.opts.onFailure = bootstrap.OnFailureRespawn
	r := &rank{app: &app{}, pid: noProcess, ended: time.Now(), status: killed}
	spare := &rank{number: noRank, app: r.app, pid: noProcess + 1, child: noProcess + 1}
	j.ranks[0], j.node.ranks, j.node.bind = r, []*rank{r}, placement.None
	j.node.children.begin([]*rank{spare})
	served := make(chan *rank, 1)
	s := &spawner{
		node: j.node, describe: bootstrap.Job{Size: 3, Nodes: 1}, generations: 2, spares: []*rank{spare},
		wires: &wiring{serve: func(r *rank) { served <- r }},
	}
	j.restarts.spawner, j.watch.running = s, 2
	require.NoError(t, j.server.Take(1, []byte{4})) // finalize, after the launcher has checked that no rank has left
	require.ErrorContains(t, j.restart([]*rank{r}, "rank 0"), "a rank has left the job")
	require.Same(t, r, <-served)
	require.True(t, r.running())
	require.Equal(t, spare.pid, r.pid)
	require.Equal(t, 3, j.watch.running)
	r.unmapRecord()
}

// Records for gorun inspect that arrive from a lost host do not delay the restart of its ranks.
func TestInspectionDoesNotDelayARestart(t *testing.T) {
	requireHeardOutAtOnce(t, func(h *host) { _ = h.seen(link.Encode(link.Seen{Number: 1})) })
}

// The answers of agents about a restart do not delay the restart of the ranks of a lost host.
func TestAnswersDoNotDelayARestart(t *testing.T) {
	requireHeardOutAtOnce(t, func(h *host) { _ = h.take(link.KindRenewed, link.Encode(link.Renewed{})) })
}

// requireHeardOutAtOnce requires that heardOut does not wait for a lost host. take handles the last frame of the
// host, as listen does.
func requireHeardOutAtOnce(t *testing.T, take func(h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := &job{node: &node{}, again: make(chan renewal), watch: watch{inspectors: newInspectors()}}
		h := &host{job: j, why: errors.New("gone"), readDone: make(chan struct{})}
		j.hosts = []*host{h}
		go func() {
			defer close(h.readDone)
			take(h)
		}()
		began := time.Now()
		j.heardOut()
		require.Zero(t, time.Since(began), "in virtual time")
		close(j.watch.ended)
		synctest.Wait()
	})
}

// If a host is lost while it gets a rank of another lost host, either the rank stays where it was, or its output on the
// new host ends. Otherwise gorun would wait for the end of that output for ever.
func TestHostThatIsLostWhileItGetsARank(t *testing.T) {
	for range 100 {
		j, a, b := respawning(t)
		j.lost, a.quit = make(chan *host, 2), func() {}
		b.lose(errors.New("gone"))
		r := j.ranks[1]
		close(r.served)
		go a.listen() // its connection has ended
		err := j.house([]*rank{r})
		if err == nil {
			r.again(0)
		}
		require.Same(t, a, <-j.lost)
		<-a.readDone
		if err != nil {
			require.Same(t, b, r.remote)
			continue
		}
		for _, s := range r.streams {
			require.True(t, slices.ContainsFunc(j.out.chunks, func(c chunk) bool { return c.source == s && c.data == nil }))
		}
	}
}

// Spares of a lost host that has no ranks are replaced by spares on other hosts.
func TestSparesOfALostHost(t *testing.T) {
	j, a, b := respawning(t)
	j.opts.spares, j.lost = 1, make(chan *host, 2)
	spare := &host{job: j, name: "c", slots: 1, conn: a.conn, input: newWindow(), quit: func() {}, readDone: make(chan struct{})}
	spare.count(&j.opts.apps[0], 1)
	j.hosts = append(j.hosts, spare)
	j.kept = j.hosts
	spare.listen() // its connection has ended
	require.Len(t, j.lost, 1)
	j.lostHost(<-j.lost)
	require.Equal(t, 1, a.waiting()+b.waiting())
	require.Equal(t, 3, j.watch.running)
}
