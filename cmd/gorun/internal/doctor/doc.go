// Package doctor implements gorun doctor. It finds faults that prevent jobs from running on a machine or
// between machines, or that make jobs slower than necessary.
//
//	gorun doctor              one exchange per host, by ssh or a similar command
//	   |  <- Report           the findings of Machine on the host, and the addresses at which it listens
//	   |  -> Clock            a request for the time
//	   |  <- Nanoseconds      the host's time
//	   |  -> Calls            the addresses at which all other hosts listen
//	   |  <- Answers          to which of these addresses a long message could be sent
//
// Machine reads files below a root directory, so that a test can simulate any machine by a directory of
// files. The package changes nothing on the hosts, and all connections and listeners are closed when the
// exchange ends.
package doctor
