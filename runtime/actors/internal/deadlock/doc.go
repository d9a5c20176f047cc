// Package deadlock finds actors that wait for each other in a cycle, by probes, as Chandy,
// Misra and Haas do (Distributed deadlock detection, 1983): an actor that begins to wait
// sends a probe to each actor that it waits for. An actor that waits itself passes the
// probe on. An actor that gets its own probe back is in a cycle.
//
//	A waits for B, B for C, C for A:
//	A ---- probe of A ---> B ---- probe of A ---> C ---- probe of A ---> A: a cycle
//
// The package does the bookkeeping of one rank. It sends no probes and runs no actors.
package deadlock
