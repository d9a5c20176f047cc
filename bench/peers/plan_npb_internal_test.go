package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseReport(t *testing.T) {
	const ours = " MG Benchmark Completed.\n Mop/s total     =                    4209.05\n Mop/s/process   =                    2104.52\n Verification    =                 SUCCESSFUL\n"
	values, err := parseReport(ours)
	require.NoError(t, err)
	require.Equal(t, map[int]float64{0: 4209.05}, values)
	for text, says := range map[string]string{
		"": "no Mop/s",
		" Mop/s/process   = 12\n Verification    =   SUCCESSFUL\n":   "no Mop/s",
		" Mop/s total     = 12\n Verification    =   UNSUCCESSFUL\n": "not verified",
		" Mop/s total     = 12\n":                                    "not verified",
	} {
		_, err := parseReport(text)
		require.ErrorContains(t, err, says)
	}
}

// TestReferenceCommand checks that a system's reference codes are found in the directory of that system, and
// that the reference codes get no arguments.
func TestReferenceCommand(t *testing.T) {
	all := systems("/d", false)
	for i := range all {
		all[i].references = "/codes"
	}
	two := npbPlan().measurements[0]
	require.Equal(t, []string{"/d/gorun", "-bind-to", "core", "-np", "2", "/d/npb", "-kernel", "EP", "-class", "S"}, all[0].command("/d", &two, false))
	require.Equal(t, []string{"mpirun.mpich", "-bind-to", "core", "-np", "2", "/codes/mpich/bin/ep.S.x"}, all[2].command("/d", &two, false))
	four := npbPlan().measurements[1]
	require.Equal(t, []string{"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np", "4", "/codes/openmpi/bin/ep.S.x"}, all[1].command("/d", &four, false))
}

// TestLoadColumn checks that a plan with measured loads has a column for the median load.
func TestLoadColumn(t *testing.T) {
	c := &comparison{plan: npbPlan(), systems: systems("/d", false), result: newResult(1)}
	c.rows = c.rows[:1]
	key := c.rows[0].measurement
	c.result.add(key, gorun, map[int]float64{0: 240})
	c.result.add(key, mpich, map[int]float64{0: 200})
	for _, v := range []float64{3, 1, 2} {
		c.result.add(key, loadOf, map[int]float64{0: v})
	}
	require.Equal(t, "|  | unit | gorun | Open MPI | MPICH | against | ratio | bar | aim | load |  |\n|---|---|---|---|---|---|---|---|---|---|---|\n"+
		"| EP S, 2 ranks | Mop/s | 240 | - | 200 | better | 1.2 | >= 1 | 1.2 | 2 | aim |\n", c.text(c.lines()))
}

// TestDrop checks that the table of an unfinished comparison has only the rows with a figure or a failure.
func TestDrop(t *testing.T) {
	c := &comparison{plan: npbPlan(), result: newResult(1)}
	measured, failed := c.rows[3].name, c.rows[5].name
	c.result.add(measured, gorun, map[int]float64{0: 240})
	c.result.fail(failed, gorun, errors.New("hangs"))
	c.drop()
	require.Len(t, c.rows, 2)
	require.Equal(t, []string{measured, failed}, []string{c.rows[0].name, c.rows[1].name})
}
