// Package callsite records the callers of an operation. It takes a few nanoseconds, so that
// every operation can do it: it follows the frame pointers, which Go keeps on amd64 and
// arm64, in place of the unwinding of goruntime.Callers, which takes a hundred times as
// long. Names and lines are looked up when they are printed.
package callsite
