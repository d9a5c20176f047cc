// Package slurm runs Slurm on the hosts of package nscluster, for tests: slurmctld on h0,
// slurmd and munged on every host, with four processors each.
//
//	c := slurm.Start(t, 3)                               // or t.Skip
//	c.Command("salloc", "-N2", "-n3", "gorun", "prog")   // runs on h0
//
// It needs what nscluster needs, and slurm-wlm and munge. The daemons keep their state and
// their sockets below /run of each host and in the test's directory; they end with the hosts.
package slurm
