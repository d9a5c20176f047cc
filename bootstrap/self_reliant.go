package bootstrap

// selfReliant has those duties of an agent that a rank performs itself if a launcher other than gorun has
// started the rank.
type selfReliant interface {
	// finalize leaves the launcher's job. It is called after the session has left gorun's job.
	finalize() error
	// abort prints the reason why the rank ends the job. If the launcher offers a PMI connection, abort also
	// asks the launcher to end the job.
	abort(rank, code int, reason string)
	// end ends this process by SIGTERM. If the process handles SIGTERM, end kills it after a grace period.
	end()
}
