// Package processor has instructions that Go does not offer: release stores, prefetches and
// cache-line demotion. It uses them on amd64 and arm64. Under the race detector, and on other
// architectures, the stores are the stores of sync/atomic, and the other functions do nothing.
//
// It is a package of its own because two packages use it: transport/shm publishes records with
// release stores, and the engine releases its lock with one. The package does not build for
// 32-bit processors; the compiler's error states the reason.
package processor
