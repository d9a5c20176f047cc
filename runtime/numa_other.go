//go:build !linux || portable

package runtime

// mayRunOn says that every processor may be used.
func mayRunOn() func(processor int) bool { return func(int) bool { return true } }
