//go:build race

package npb_test

// raceEnabled reports whether the race detector is on. The detector slows all code about tenfold.
const raceEnabled = true
