// Package processor has the few instructions that Go offers no name for:
// release stores, prefetches and their opposite. Under the race detector, and
// on other architectures, they are sync/atomic and nothing at all.
//
// It stands by itself because transport/shm publishes records with it and the
// engine gives up its lock with it. It does not build for processors of 32 bits, and
// says why.
package processor
