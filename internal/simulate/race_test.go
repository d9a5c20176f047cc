//go:build race

package simulate_test

const raceDetector = true
