//go:build !race

package collectives_test

const raceDetector = false
