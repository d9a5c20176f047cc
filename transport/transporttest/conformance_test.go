package transporttest_test

import (
	"os"
	"testing"

	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// fabric wraps a fake of some ranks as the Fabric that the suite runs on.
func fabric(f *transporttest.Fake, ranks int) *transporttest.Fabric {
	fab := &transporttest.Fabric{}
	for rank := range ranks {
		fab.Transports = append(fab.Transports, f.Transport(rank))
		fab.Sleepers = append(fab.Sleepers, f.Sleeper(rank))
		fab.Arenas = append(fab.Arenas, f.Arena(rank))
	}
	return fab
}

func TestConformance(t *testing.T) {
	seeds := 1
	if os.Getenv("GORUN_SOAK") != "" {
		seeds = 8
	}
	for name, options := range map[string]transporttest.FakeOptions{
		"faultless":  {},
		"delayed":    {DelayPolls: 5},
		"refusing":   {AgainRate: 0.3},
		"tiny":       {MaxEager: 64, EagerBest: 16, RingMessages: 2, RingBytes: 100, MaxReads: 1},
		"lazy":       {ConnectPolls: 6},
		"dependent":  {TargetPolls: true, DelayPolls: 2},
		"read-only":  {NoPut: true, NoFetchAdd: true, NoHandover: true},
		"write-only": {NoGet: true, AgainRate: 0.1},
		"messages":   {NoGet: true, NoPut: true, NoFetchAdd: true, NoHandover: true, DelayPolls: 1},
		"everything": {DelayPolls: 4, AgainRate: 0.2, ConnectPolls: 3, RingMessages: 5, RingBytes: 4096, TargetPolls: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				conform(t, options, int64(seed)<<32)
			}
		})
	}
}

// conform runs the suite on the fake. The fabric of each rule has a seed of its own.
func conform(t *testing.T, options transporttest.FakeOptions, seed int64) {
	t.Helper()
	options.AllowStale = true
	transporttest.Run(t, func(_ testing.TB, ranks int) *transporttest.Fabric {
		seed++
		options.Seed = seed
		return fabric(transporttest.NewFake(ranks, options), ranks)
	})
}
