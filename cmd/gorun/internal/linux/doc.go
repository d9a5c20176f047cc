// Package linux makes the build of the launcher fail on systems other than Linux. The only error states the
// reason: on those systems, ranks are goroutines of one process (runtime.Local).
package linux
