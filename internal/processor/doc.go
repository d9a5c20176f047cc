// Package processor has instructions that Go does not offer: release stores, prefetches and
// cache-line demotion. Under the race detector, and on other architectures, stores are
// those of sync/atomic and the others do nothing.
//
// It is a package of its own because transport/shm publishes records with it and the
// engine releases its lock with it. It does not build for 32-bit processors, with an
// error that says why.
package processor
