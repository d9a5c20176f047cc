// Package deadlock finds actors that wait for each other in a cycle. It uses the probes of
// Chandy, Misra and Haas (Distributed deadlock detection, 1983). An actor that begins to wait
// sends a probe to each actor for which it waits. If an actor that receives a probe waits as
// well, it passes the probe on to the actors for which it waits. An actor that receives its own
// probe is in a cycle.
//
//	A waits for B, B for C, C for A:
//	A ---- probe of A ---> B ---- probe of A ---> C ---- probe of A ---> A: a cycle
//
// The package records the state of one rank. The caller sends the probes and runs the actors.
package deadlock
