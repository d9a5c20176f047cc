package main

import (
	"context"
	"errors"
	"io"
	"log"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOptions checks where results are written. A run with -only or -quick does not replace the stored
// results, unless -draw or -resume is set. It writes its results to the directory of -out, or writes none.
func TestOptions(t *testing.T) {
	root, err := moduleDir()
	require.NoError(t, err)
	results, all := filepath.Join(root, "bench", "results"), "peers,osu,collectives,crowd,rdma,hosts,actors,curves,npb"
	for _, tc := range []struct {
		given      options
		arguments  []string
		part, only string
		out, says  string
	}{
		{given: options{rounds: 5}, part: all, out: results},
		{given: options{rounds: 5}, part: "curves,rdma", out: results},
		{given: options{rounds: 5}, part: all, only: "^rdma"},
		{given: options{rounds: 5, quick: true}, part: all},
		{given: options{rounds: 5, quick: true, out: "there"}, part: all, only: "x", out: "there"},
		{given: options{rounds: 5, draw: true, quick: true}, part: all, out: results},
		{given: options{rounds: 5, resume: true}, part: "osu", only: "^allreduce", out: results},
		{given: options{rounds: 5, resume: true, quick: true}, part: "osu", says: "-for needs -resume"},
		{given: options{rounds: 5, limit: 1}, part: "osu", says: "-for needs -resume"},
		{given: options{rounds: 0}, part: all, says: "-rounds 0"},
		{given: options{rounds: 5}, part: "", says: `-part "": there are peers, osu, collectives, crowd, rdma, hosts, actors, curves, npb`},
		{given: options{rounds: 5}, part: "npb", says: "-part npb needs -npb"},
		{given: options{rounds: 5, npb: "codes"}, part: "npb", out: results},
		{given: options{rounds: 5}, part: "rdma,boat", says: `-part "boat"`},
		{given: options{rounds: 5}, part: all, only: "(", says: "-only: "},
		{given: options{rounds: 5}, part: all, arguments: []string{"rdma"}, says: `unexpected argument "rdma"`},
	} {
		o := tc.given
		err := o.complete(tc.arguments, tc.part, tc.only)
		if tc.says != "" {
			require.ErrorContains(t, err, tc.says)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.out, o.out, "%+v", tc)
	}
}

// TestPartNames checks that the default of -part leaves out the long plans.
func TestPartNames(t *testing.T) {
	require.Equal(t, []string{"peers", "crowd", "rdma", "actors", "curves"}, partNames(false))
	require.Equal(t, []string{"peers", "osu", "collectives", "crowd", "rdma", "hosts", "actors", "curves", "npb"}, partNames(true))
}

// TestChoose checks that -only drops the rows that do not match, and the measurements that no other row needs.
func TestChoose(t *testing.T) {
	whole := messagePlan()
	c := &comparison{plan: whole}
	c.choose(regexp.MustCompile(""))
	require.Equal(t, len(messagePlan().rows), len(c.rows))
	c.choose(regexp.MustCompile("from the arena$|^handover of 64 MiB, to latency"))
	require.Len(t, c.rows, 2)
	keys := make([]string, 0, len(c.measurements))
	for _, m := range c.measurements {
		keys = append(keys, m.key)
	}
	require.ElementsMatch(t, []string{"bandwidth arena", "bandwidth", "handover", "latency"}, keys)
	require.Equal(t, messagePlan().rows, whole.rows, "the plan stays as it is")
	require.Equal(t, messagePlan().measurements, whole.measurements)
	c = &comparison{plan: curvePlan()}
	c.choose(regexp.MustCompile("latency"))
	require.Empty(t, c.curves, "curves are no rows")
}

// TestResume checks that -resume skips the measurements that were already made or that have failed, and makes
// all other measurements. It is an error to resume with the results of another machine.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	fresh := func() *comparison {
		return &comparison{plan: osuPlan(), systems: systems("", false), result: newResult(2)}
	}
	c := fresh()
	require.NoError(t, c.resume(dir), "there is nothing yet")
	m, ours := &c.measurements[0], &c.systems[0]
	require.True(t, c.due(m, ours, 0))
	c.result.add(m.key, ours.name, map[int]float64{8: 1})
	c.result.fail(c.measurements[1].key, ours.name, errors.New("lost"))
	require.NoError(t, c.result.write(filepath.Join(dir, "osu.json")))

	again := fresh()
	require.NoError(t, again.resume(dir))
	require.False(t, again.due(m, ours, 0))
	require.True(t, again.due(m, ours, 1))
	require.True(t, again.due(m, &again.systems[1], 0))
	require.True(t, again.due(&again.measurements[2], ours, 0))
	require.False(t, again.due(&again.measurements[1], ours, 0), "what failed is not tried again")

	other := fresh()
	other.result.Machine.CPU = "another"
	require.ErrorContains(t, other.resume(dir), "of another machine")
}

// TestOSUPlan checks that the plan has a row for each size and number of ranks of most operations. It also
// checks that each row is measured by processes of its own. The common arguments of the systems must not set
// the number of iterations, except for messagerate.
func TestOSUPlan(t *testing.T) {
	p := osuPlan()
	require.Len(t, p.rows, len(p.measurements), "a row per measurement")
	names := make([]string, 0, len(p.rows))
	for i := range p.rows {
		names = append(names, p.rows[i].name)
		m := p.measurements[i]
		require.Equal(t, p.rows[i].measurement, m.key)
		if m.program != "messagerate" { // the iteration counts of messagerate differ from OSU's
			require.NotContains(t, m.args, "-i")
			require.NotContains(t, m.args, "-x")
		}
		require.Empty(t, m.ours)
	}
	for _, ranks := range []string{"2", "4", "8"} {
		require.Contains(t, names, "barrier, "+ranks+" ranks")
		for _, what := range []string{"latency", "messages of", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"} {
			for _, size := range []string{"8 B", "1 KiB", "16 KiB", "64 KiB", "1 MiB"} {
				require.Contains(t, names, what+" "+size+", "+ranks+" ranks")
			}
		}
	}
	require.Contains(t, names, "bidirectional bandwidth 1 MiB, 2 ranks")
	require.Contains(t, names, "alltoall 64 KiB, buffers written, 2 ranks")
}

// TestEndOfTheTime checks that a run with -resume that was stopped, by -for or by another end of the context, writes
// the results that it has, and returns the cause.
func TestEndOfTheTime(t *testing.T) {
	for _, cause := range []error{errLimit, errors.New("interrupted")} {
		o := &options{resume: true, out: t.TempDir()}
		c := &comparison{plan: osuPlan(), rounds: 1, systems: systems("", false), log: log.New(io.Discard, "", 0), result: newResult(1)}
		c.result.add(c.measurements[0].key, gorun, map[int]float64{8: 1})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		whole := c.plan
		err := c.conclude(o, &whole, c.run(ctx))
		require.FileExists(t, filepath.Join(o.out, "osu.json"))
		require.Same(t, cause, err)
	}
}
