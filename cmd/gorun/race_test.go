//go:build race

package main_test

// raceEnabled is true if this test, and the gorun that it builds, are built with the race detector.
const raceEnabled = true
