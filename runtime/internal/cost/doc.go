// Package cost has benchmarks alone: what each layer between a program and an adapter adds to
// a message, over a device that completes every request at once
// (internal/testbed/nulldevice). docs/performance.md explains the figures.
//
//	go test -run '^$' -bench . ./runtime/internal/cost
//
// One goroutine is both ranks in turn, so that a figure is the processor time of both sides,
// and no cache line travels between processors.
package cost
