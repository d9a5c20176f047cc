package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestFitOfProcesses(t *testing.T) {
	require.Regexp(t, `^coefficients: \[(2.00\d|1.99\d) (-1.00\d|-0.99\d) (0.50\d|0.49\d) (3.00\d|2.99\d)\]\n$`, launch.Example(t, 3))
}
