//go:build race

package main_test

// raceEnabled reports that this test, and the gorun that it builds, have the race detector.
const raceEnabled = true
