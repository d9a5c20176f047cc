// Package rdmavm boots a guest machine that has the kernel's RDMA, for tests: rxe
// (RoCE v2) and siw (iWARP) in software, rping and its like, on a machine that may have
// no RDMA at all.
//
//	g := rdmavm.Start(t, rdmavm.Config{Share: dir})   // or t.Skip
//	out, status := g.Run("rping -c -a 10.9.1.1 -C 5")
//
//	this machine                      guest (QEMU, emulated: no /dev/kvm)
//	  127.0.0.1:Port(7) ------------> eth0 10.0.2.15:7
//	  127.0.0.1:n <------------------ 10.0.2.2:n
//	  Config.Share <----------------> /share
//	                                  rxe on dummy0 10.9.0.1, siw on dummy1 10.9.1.1
//
// Two guests of StartPair are hosts of one network, where gorun finds ssh:
//
//	guest1: eth1 10.8.0.1 <----------------> guest2: eth1 10.8.0.2
//
// A guest boots in about six seconds of one core, so that one guest serves a group of tests,
// and only tests that are asked for boot one: GORUN_RDMA_VM=1. Every guest has a limit of
// time, because siw's faults can stop a kernel.
//
// The image is made of Debian packages, once, in about a minute, as any user; siw, which
// Debian leaves out, is compiled from linux-source. It is kept below the user's cache
// directory under the sum of what went into it. What is missing skips the test with a line
// that says so. Nothing else is left behind, even if the test is killed, but a
// directory of some KiB for temporary files: the guest dies with the thread that has
// started it.
package rdmavm
