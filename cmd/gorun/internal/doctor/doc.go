// Package doctor finds out what keeps jobs from running on a machine or between machines, or
// makes them slower than need be: for gorun doctor.
//
//	gorun doctor              one Exchange per host, by ssh or the like
//	   |  <- Machine          what the host found out about itself, and where it listens
//	   |  -> Calls            where all the others listen
//	   |  <- Answers          which of these it could reach, with how much data
//
// Machine looks at files below a root, so that tests have machines of any kind. Nothing is
// changed, and nothing is left open when the exchange ends.
package doctor
