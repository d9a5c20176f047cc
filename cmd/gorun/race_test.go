//go:build race

package main_test

// raceEnabled makes the gorun under test look for races, too.
const raceEnabled = true
