// Package nscluster emulates several hosts on one machine, for tests. A host is a set of namespaces.
// It has its own network interface on a bridge, host name, processes, shared memory and boot id, so
// that a program cannot distinguish hosts from machines. All hosts see the files of this machine,
// except below /dev/shm and /run, where each host has its own.
//
//	c := nscluster.Start(t, 2)                   // h0 and h1, or t.Skip
//	exec.Command("gorun", "-host", "h0,h1", "-rsh", c.Rsh(), ...)
//	c.Kill("h1")                                 // as a power failure of h1
//
//	      bridge (in a network namespace of its own: this machine's is not changed)
//	     /      |      \
//	    h0      h1      h2      10.77.0.1, .2, .3/24 and fd77::1, ::2, ::3/64 on eth0
//
// It needs root, iproute2 and util-linux; SSH needs openssh-server as well. If one of them is
// missing, the test is skipped with a message that names it. No process is left behind, even if the
// test is killed: the kernel kills the first process of a host when the thread that started it ends,
// and with it all other processes of the host.
package nscluster
