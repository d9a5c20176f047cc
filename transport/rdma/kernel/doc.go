// Package kernel is the provider of RDMA adapters that have a driver in the kernel. It makes
// connections by rdma_cm, and registers memory and posts requests by uverbs. Package uverbs drives
// siw (iWARP) and rxe (RoCE v2) in Go, without a library and without C, if their drivers have the ABI
// that package uverbs knows. libibverbs drives all other adapters and, with Config.Library, also siw
// and rxe. Package ibverbs loads libibverbs at run time, in programs that were built with cgo.
//
//	Sends.Next -> SendRequest -> ring in mapped memory -> doorbell
//	ring of completions -> wr_id -> queue pair, number -> Sends.Done, Receives.Done
//
// A completion returns the wr_id of its request or receive. The highest bit of a wr_id is set for a
// receive. The next 15 bits are the generation of the queue pair, or 0 for a shared receive. The
// other 48 bits are the low bits of the Number of the request or receive. The generation is
// necessary because the kernel gives the number of a destroyed queue pair to a new queue pair. So a
// completion queue may contain late completions of the old queue pair and completions of the new
// queue pair with the same number.
//
// Several queue pairs share a completion queue. A completion queue never overflows, because each
// queue pair reserves an entry for every request and receive that it can have posted. If no completion
// queue has room for these entries, a new one is made.
//
// The kernel does not tell a program whether a message was solicited, and on iWARP it does not tell
// which key a message has invalidated. So this package cannot report these facts. On RoCE a message
// cannot invalidate a key of this package, because only keys of memory windows can be invalidated.
// The attributes of the device state these limits.
//
// Unstable: any release may change this package, also after v1.
package kernel
