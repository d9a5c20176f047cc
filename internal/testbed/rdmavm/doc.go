// Package rdmavm boots a guest machine for tests of RDMA through the kernel. The guest has the software
// drivers rxe (RoCE v2) and siw (iWARP), and programs such as rping. The machine that runs the tests needs no
// RDMA adapter and no RDMA driver.
//
//	g := rdmavm.Start(t, rdmavm.Config{Share: dir})   // or t.Skip
//	out, status, err := g.Run("rping -c -a 10.9.1.1 -C 5")
//
//	this machine                      guest (QEMU, emulated: no /dev/kvm)
//	  127.0.0.1:Port(7) ------------> eth0 10.0.2.15:7
//	  127.0.0.1:n <------------------ 10.0.2.2:n
//	  Config.Share <----------------> /share
//	                                  rxe on dummy0 10.9.0.1, siw on dummy1 10.9.1.1
//
// The two guests of StartPair are on one network and run an ssh server, which gorun uses:
//
//	guest1: eth1 10.8.0.1 <----------------> guest2: eth1 10.8.0.2
//
// Booting a guest takes about six seconds of one core. For this reason, one guest serves a group of tests,
// and a test boots a guest only if the environment has GORUN_RDMA_VM=1. Every guest is killed after a time
// limit, because a defect of siw can hang the guest's kernel.
//
// The image is made from Debian packages once per machine and user, in about a minute, without privileges.
// Debian's kernel does not contain siw, so siw is compiled from linux-source. The image is kept below the
// user's cache directory, under the checksum of its inputs. If the machine lacks a program or a package, the
// test is skipped with a message that names it. Only the image and an empty lock file are left behind. If the
// test is killed while a guest runs, a directory with temporary files of a few KiB is also left. No process
// is left in this case, because the kernel kills the guest when the thread that started it ends.
package rdmavm
