// Package linux makes the build of the launcher fail on other systems, with one error that
// says why: there ranks are goroutines of one process, see runtime.Local.
package linux
