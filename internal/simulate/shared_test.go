package simulate_test

import (
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// TestSignalWakesTheOwnRank checks that Shared.Signal and Shared.SignalAdd wake another goroutine of the same rank
// that sleeps in Shared.Await, on the simulated Sleeper.
func TestSignalWakesTheOwnRank(t *testing.T) {
	run(t, simulate.Program{Name: "signal", Ranks: []int{1, 2}, Main: func(r simulate.Rank) error {
		s, err := runtime.NewShared(r.Comm(), 16)
		if err != nil {
			return err
		}
		for off, signal := range map[int]func(w *runtime.Word){
			0: func(w *runtime.Word) { s.Signal(w, 1) },
			8: func(w *runtime.Word) { s.SignalAdd(w, 1) },
		} {
			w := s.Word(r.Rank(), off)
			go func() {
				time.Sleep(time.Second) // virtual time: the other goroutine sleeps by then
				signal(w)
			}()
			if err := s.Await(r.Comm(), w, 1); err != nil {
				return err
			}
		}
		return s.Close()
	}}, 1, 0)
}
