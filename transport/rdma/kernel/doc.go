// Package kernel is the provider of RDMA adapters that the kernel drives: connections by
// rdma_cm, memory and work by uverbs. siw (iWARP) and rxe (RoCE v2) are driven in Go, by
// package uverbs, without a library and without C; all others by libibverbs, which package
// ibverbs opens at run time in programs that were built with cgo.
//
//	Sends.Next -> SendRequest -> ring in mapped memory -> doorbell
//	ring of completions -> wr_id -> queue pair, number -> Sends.Done, Receives.Done
//
// The number that comes back with a completion (wr_id) has 16 bits for the generation of the
// queue pair, one of which says that it is a receive, and 48 for the request's Number: the
// kernel gives the number of a queue pair that has ended to the next one, whose completions
// then share a queue with late ones of the old.
//
// Completion queues are shared by queue pairs, as many as fit, and are never full: a queue
// pair is refused when there is no room for all that it can have posted.
//
// What the kernel does not tell a program, this package cannot: whether a message was
// solicited, and on iWARP which key it has revoked. On RoCE a message revokes no key at all,
// because that needs memory windows. Attributes say so.
//
// Unstable: any release may change this package, also after v1.
package kernel
