//go:build !linux || portable

package runtime

// mayRunOn returns a function that reports true for every processor: the affinity is not known here.
func mayRunOn() func(processor int) bool { return func(int) bool { return true } }
