// Package cost contains benchmarks, and a test that short messages allocate no memory. The benchmarks
// measure the time that each layer between a program and an adapter adds to a message. The test adapter
// (internal/testbed/nulldevice) completes every work request at once, except in BenchmarkRails.
// docs/performance.md explains the figures.
//
//	go test -run '^$' -bench . ./runtime/internal/cost
//
// One goroutine runs both ranks in turn. So a figure is the sum of the processor times of both
// sides, and no cache line moves between processors.
package cost
