// Package ibverbs provides the objects of package uverbs for every RDMA device for which rdma-core
// has a provider: mlx5, irdma, bnxt_re, efa and others, including siw and rxe. It opens
// libibverbs.so.1 at run time. A build needs neither the library nor its headers.
//
//	control   exported functions of the library     dlsym, call
//	post      struct ibv_context, ops.post_send     one list of requests per call
//	poll      struct ibv_context, ops.poll_cq       many completions per call
//	sleep     Channel, a descriptor for poll(2)     Arm
//
// Requests, completions, attributes and errors have the types of uverbs, and the methods have the
// same names, so that users need only one implementation for both packages. The layouts of the
// library's structures are in layout.go. Tests compare them with the library's header if the header
// is installed.
//
// The C code of this package only loads the library and calls functions by their addresses. The C
// code needs cgo. A program that was built without cgo is static and cannot load a library. In this
// case Available returns ErrNotLinked.
//
// As in uverbs, several goroutines may use the objects of a device at the same time, but at most
// one goroutine may use a queue at a time. No function waits for an event, because the file
// descriptors are nonblocking.
package ibverbs
