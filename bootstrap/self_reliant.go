package bootstrap

// selfReliant is what a rank does itself where another launcher than gorun has started it.
type selfReliant interface {
	// finalize leaves the launcher's job after the session has left its own.
	finalize() error
	// abort prints why the rank ends the job, and asks the launcher to end it.
	abort(rank, code int, reason string)
	// end ends this process, or lets it clean up for a while.
	end()
}
