// Package allocation finds out which hosts a scheduler has given to a job, and by which
// command a process is started on each. It reads variables and starts nothing: [Find] is a
// function of the environment.
//
//	a, err := allocation.Find(os.Getenv)
//	if a != nil { ... a.Hosts, a.Remote ... }
//
// What the environment says must be whole: a list of hosts without counts, or counts that
// do not fit the list, is an error that names the variables, and never a smaller job.
package allocation
