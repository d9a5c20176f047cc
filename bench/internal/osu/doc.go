// Package osu contains the parts that the benchmarks share: flags, numbers of iterations, buffers and the
// table. It follows the conventions of the OSU micro-benchmarks (osu_util.h of version 7.4), so that figures
// can be compared with figures of other message-passing systems.
//
// Sizes are in bytes, times in microseconds, and bandwidths in 10^6 bytes per second. Only rank 0
// prints.
package osu
