// Package nscluster makes several hosts of one machine, for tests: network
// namespaces on a bridge, each with its own host name, processes, shared memory
// and boot id, so that a program cannot tell them from machines. They see the
// same files, except below /dev/shm and /run.
//
//	c := nscluster.Start(t, 2)                   // h0 and h1, or t.Skip
//	exec.Command("gorun", "-host", "h0,h1", "-rsh", c.Rsh(), ...)
//	c.Kill("h1")                                 // as if its power failed
//
//	      bridge (a namespace of its own: the machine's is not touched)
//	     /      |      \
//	    h0      h1      h2      10.77.0.1, .2, .3/24 and fd77::1, ::2, ::3/64 on eth0
//
// It needs root, iproute2 and util-linux; SSH needs openssh-server as well. What
// is missing skips the test with a line that names it. Nothing is left behind,
// even if the test is killed: the first process of a host dies with the thread
// that has started it, and the kernel kills the rest of the host.
package nscluster
