package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is not whole replaces no results: it goes where -out says, or nowhere.
func TestOptions(t *testing.T) {
	root, err := moduleDir()
	require.NoError(t, err)
	results, all := filepath.Join(root, "bench", "results"), "peers,crowd,rdma,actors,curves"
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
		{given: options{rounds: 0}, part: all, says: "-rounds 0"},
		{given: options{rounds: 5}, part: "", says: `-part "": there are peers, crowd, rdma, actors, curves`},
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

// -only leaves out what no row that matches needs.
func TestChoose(t *testing.T) {
	c := &comparison{plan: messagePlan()}
	c.choose(regexp.MustCompile(""))
	require.Equal(t, len(messagePlan().rows), len(c.rows))
	c.choose(regexp.MustCompile("from the arena$|^handover of 64 MiB, to latency"))
	require.Len(t, c.rows, 2)
	keys := make([]string, 0, len(c.measurements))
	for _, m := range c.measurements {
		keys = append(keys, m.key)
	}
	require.ElementsMatch(t, []string{"bandwidth arena", "bandwidth", "handover", "latency"}, keys)
	c = &comparison{plan: curvePlan()}
	c.choose(regexp.MustCompile("latency"))
	require.Empty(t, c.curves, "curves are no rows")
}
