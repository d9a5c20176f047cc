// Package processor has instructions that Go does not offer: release stores, a store fence, prefetches
// and cache-line demotion. It uses them on amd64 and arm64. Under the race detector, and on other
// architectures, the release stores are the stores of sync/atomic, and the prefetches and the demotion do
// nothing.
//
// Several packages use it. For example, transport/shm publishes records with release stores, and the engine
// releases its lock with a release store. The package does not build for 32-bit processors. The compiler's
// error then states the reason.
package processor
