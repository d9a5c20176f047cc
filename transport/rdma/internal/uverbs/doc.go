// Package uverbs speaks with the RDMA drivers of the kernel without a library: it opens
// /dev/infiniband/uverbsN, makes memory regions, completion queues and queue pairs by
// commands, and moves work through queues in memory that the driver shares.
//
//	control   Context.call -> write(2) of a command    ib_user_verbs.h
//	post      ring in mapped memory, then a doorbell   driver, PostSends
//	poll      ring in mapped memory, no system call    driver, Poll
//	sleep     Channel, a descriptor for poll(2)        Arm
//
// The commands are those of write(2), the smallest interface that all kernels with a
// driver for these devices have: each is one structure and its answer is another. The
// ioctl interface needs a tree of attributes for the same, has methods for a part of the
// objects only where the kernel was configured with INFINIBAND_EXP_LEGACY_VERBS_NEW_UAPI,
// and none for the doorbell.
//
// The layout of the queues is the driver's. Here are those of siw (iWARP) and rxe (RoCE
// v2), which are software; a device of another driver needs libibverbs, and Open says so.
//
// What belongs to one device may be used by several goroutines at a time, but each queue by
// one: posts to a queue pair, posts to a shared receive queue, and polls of a completion
// queue each need a lock of the caller, as its other users have one anyway.
package uverbs
