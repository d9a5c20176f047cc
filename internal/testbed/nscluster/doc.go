// Package nscluster emulates several hosts on one machine, for tests. A host is a set of namespaces. A host
// has its own network interface on a bridge, and its own host name, processes, shared memory and boot ID. For
// this reason, gorun treats each host as a machine. All hosts see the files of this machine, with these exceptions:
// each host has its own /proc and its own files below /dev/shm and /run, and all hosts have the /etc/hosts of the
// cluster.
//
//	c := nscluster.Start(t, 2)                   // h0 and h1, or t.Skip
//	exec.Command("gorun", "-host", "h0,h1", "-rsh", c.Rsh(), ...)
//	c.Kill("h1")                                 // as a power failure of h1
//
//	      bridge (in a network namespace of its own, so that this machine's network is unchanged)
//	     /      |      \
//	    h0      h1      h2      10.77.0.1, .2, .3/24 and fd77::1, ::2, ::3/64 on eth0
//
// A cluster needs root, iproute2 and util-linux. SSH also needs openssh-server and openssh-client. If one of these
// is missing, the test is skipped with a message that names the missing part. No process is left behind, even if
// the test is killed: when the thread that started the first process of a host ends, the kernel kills that process,
// and all other processes of the host end with it.
package nscluster
