// Package uverbs uses the RDMA drivers of the kernel without a library. It opens
// /dev/infiniband/uverbsN. It makes memory regions, completion queues and queue pairs by commands
// to this file. Work requests and completions pass through queues in memory that the driver shares.
//
//	control   call, write(2) of a command              ib_user_verbs.h
//	post      ring in mapped memory, then a doorbell   driver, PostSends
//	poll      ring in mapped memory, no system call    driver, Poll
//	sleep     Channel, a descriptor for poll(2)        Arm
//
// The package uses the commands of write(2): each command is one structure, and its answer is
// another structure. Every kernel with a driver for these devices has these commands. The
// alternative would be the kernel's ioctl interface, which has three disadvantages. It needs a tree
// of attributes for each command. For some objects it has methods only if the kernel was configured
// with INFINIBAND_EXP_LEGACY_VERBS_NEW_UAPI. It has no method for the doorbell.
//
// Each driver has its own layout of the queues. This package contains the layouts of siw (iWARP)
// and rxe (RoCE v2), which are drivers of devices in software. For a device of any other driver,
// Open returns ErrUnknownDriver, because such a device needs libibverbs.
//
// Several goroutines may use the objects of one device at the same time, but only one goroutine at
// a time may use a queue. Posts to a queue pair, posts to a shared receive queue, and polls of a
// completion queue each need a lock of the caller. If the caller already uses a queue under a lock
// of its own, this lock is sufficient.
package uverbs
