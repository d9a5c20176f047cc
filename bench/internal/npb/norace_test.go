//go:build !race

package npb_test

// raceEnabled says that the race detector slows everything tenfold.
const raceEnabled = false
