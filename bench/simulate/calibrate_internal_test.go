package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// TestLevel checks that a model made of measured figures predicts these figures at the measured lengths.
// Between two measured lengths, the model must predict the linear interpolation.
func TestLevel(t *testing.T) {
	latency := figures{
		8: 0.15, 1 << 10: 0.18, 4 << 10: 0.35, 16 << 10: 1,
		32 << 10: 3.3, 64 << 10: 4.6, 256 << 10: 11, 1 << 20: 35,
	}
	m := simulation.Model{RanksPerNode: 2, Network: simulation.Level{{}}, Node: level(latency, 40)}
	require.NoError(t, m.Validate())
	want := figures{600 << 10: 11 + 24*(600-256)/768.0, 8 << 10: 0.35 + 0.65*4/12}
	for n, us := range latency {
		want[n] = us
	}
	for n, us := range want {
		u := simulation.Run{Operation: "bcast", Algorithm: "binomial", Ranks: 2, Bytes: n, Model: m}
		res, err := u.Predict()
		require.NoError(t, err)
		got := res.Time.Seconds() * 1e6
		if n > 16<<10 {
			got -= m.Node[0].Latency / 1e3 // in a rendezvous, the root returns one latency after the receiver
		}
		require.InDelta(t, us, got, 1e-5, n)
	}
}

// TestLevelOfNoise checks that decreasing figures, which noise can cause, give no negative
// parameter.
func TestLevelOfNoise(t *testing.T) {
	latency := figures{
		8: 0.5, 1 << 10: 0.18, 4 << 10: 0.1, 16 << 10: 0.05,
		32 << 10: 0.01, 64 << 10: 0.3, 256 << 10: 0.2, 1 << 20: 0.1,
	}
	m := simulation.Model{RanksPerNode: 2, Network: simulation.Level{{}}, Node: level(latency, 1e9)}
	require.NoError(t, m.Validate())
}

// TestTextOfACalibration checks that the text has the mean deviation of all rows, and the mean and the largest
// deviation of the rows of each number of ranks.
func TestTextOfACalibration(t *testing.T) {
	c := calibration{model: simulation.Model{Network: simulation.Level{{Latency: 1000, PerByte: 1}}}, fitted: 0.123}
	for _, row := range []struct {
		ranks, bytes int
		deviation    float64
	}{{2, 8, 0.1}, {2, 64, -0.2}, {16, 8, 0.3}} {
		u := simulation.Run{Operation: "bcast", Algorithm: "binomial", Ranks: row.ranks, Bytes: row.bytes, Model: c.model}
		res, err := u.Predict()
		require.NoError(t, err)
		c.checked = append(c.checked, observation{u, res.Mean.Seconds() * 1e6 / (1 + row.deviation)})
	}
	text, err := c.text()
	require.NoError(t, err)
	require.Equal(t, "simulate: the model deviates by 12.3% on average from the measurements to which it is fitted,\n"+
		"and by 20.0% from those of allreduce, to which it is not fitted:\n"+
		"   2 ranks: 15.0%, largest -20% (binomial, 64 bytes)\n"+
		"  16 ranks: 30.0%, largest +30% (binomial, 8 bytes)\n", text)
	c.model.Network = nil
	_, err = c.text()
	require.ErrorIs(t, err, simulation.ErrModel)
}
