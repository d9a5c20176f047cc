// Package ibverbs has the objects of package uverbs for every RDMA device that rdma-core
// has a provider for: mlx5, irdma, bnxt_re, efa and the rest, and also siw and rxe. It
// opens libibverbs.so.1 at run time; nothing of it is needed to build.
//
//	control   exported functions of the library     dlsym, call
//	post      struct ibv_context, ops.post_send     one list of requests for a call
//	poll      struct ibv_context, ops.poll_cq       many completions for a call
//	sleep     Channel, a descriptor for poll(2)     Arm
//
// Requests, completions, attributes and errors are those of uverbs, and so are the names of
// the methods, so that a user has one code for both. The layouts of the library's structures
// are in layout.go; tests compare them with the header where there is one.
//
// The only C is a call of a function by its address. It needs cgo: a program that was built
// without cgo is static and finds no library, and Available says so.
//
// What belongs to one device may be used by several goroutines at a time, but each queue by
// one, as in uverbs. No function waits for an event: descriptors are nonblocking.
package ibverbs
