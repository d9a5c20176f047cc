// Package cost contains only benchmarks. They measure the time that each layer between a program
// and an adapter adds to a message. The test adapter (internal/testbed/nulldevice) completes every work
// request at once. docs/performance.md explains the figures.
//
//	go test -run '^$' -bench . ./runtime/internal/cost
//
// One goroutine runs both ranks in turn. So a figure is the sum of the processor times of both
// sides, and no cache line moves between processors.
package cost
