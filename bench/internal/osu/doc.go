// Package osu is what the benchmarks have in common: flags, counts of
// iterations, buffers and the table, after the conventions of the OSU
// micro-benchmarks (osu_util.h of version 7.4), so that figures can be compared with those
// of other message-passing systems.
//
// Sizes are bytes, times microseconds, bandwidths 10^6 bytes per second. Only
// rank 0 prints.
package osu
