// Package allocation finds out which hosts a scheduler has given to a job, and which command starts
// a process on each. It reads variables and starts nothing: [Find] is a function of the
// environment.
//
//	a, err := allocation.Find(os.Getenv)
//	if a != nil { ... a.Hosts, a.Remote ... }
//
// The description must be complete: a list of hosts without counts, or counts that do not fit the
// list, are an error that names the variables. They never lead to a smaller job.
package allocation
