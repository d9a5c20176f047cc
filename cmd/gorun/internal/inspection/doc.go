// Package inspection connects gorun inspect to the gorun that runs a job, over a Unix socket.
//
// The socket has an abstract name (unix(7)): no file is left behind, however the job ends. Such
// names have no permissions, so both sides ask the kernel for the user at the other end
// (SO_PEERCRED) and accept their own user and root alone.
//
// A client sends a line for each report that it wants. The answer is one line of JSON.
package inspection
