// Package allocation finds out which hosts a scheduler has given to a job, and which command starts a process
// on each. It only reads environment variables and starts no process.
//
//	a, err := allocation.Find(os.Getenv)
//	if a != nil { ... a.Hosts, a.Remote ... }
//
// The description must be complete. A list of hosts without counts, or with counts that do not fit the list,
// causes an error that names the variables. Such a list never leads to a smaller job.
package allocation
