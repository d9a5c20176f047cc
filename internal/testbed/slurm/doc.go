// Package slurm runs Slurm on the hosts of package nscluster, for tests: slurmctld on h0, and slurmd and
// munged on every host. For Slurm, every host has four processors.
//
//	c := slurm.Start(t, 3)                               // or t.Skip
//	c.Command("salloc", "-N2", "-n3", "gorun", "prog")   // runs on h0
//
// Slurm needs slurm-wlm, munge, and the programs that nscluster needs. The daemons keep their state and their
// sockets below /run of each host and in a temporary directory of the test. They end with the hosts.
package slurm
