// Package doctor implements gorun doctor. It finds what prevents jobs from running on a machine or
// between machines, or makes them slower than necessary.
//
//	gorun doctor              one exchange per host, by ssh or a similar command
//	   |  <- Report           the findings of Machine on the host, and the addresses at which it listens
//	   |  -> Clock            a request for the time
//	   |  <- Nanoseconds      the host's time
//	   |  -> Calls            the addresses at which all other hosts listen
//	   |  <- Answers          to which of these a long message could be sent
//
// Machine reads files below a root directory, so that a test can present a machine of any kind.
// The package changes nothing on the hosts, and all connections and listeners are closed when the
// exchange ends.
package doctor
