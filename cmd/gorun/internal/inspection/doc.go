// Package inspection connects gorun inspect to the gorun that runs a job, over a Unix socket.
//
// The socket is a file of mode 0600 in a directory of mode 0700 of the user: gorun in XDG_RUNTIME_DIR if that is
// the user's, else gorun-UID in TMPDIR or /tmp. A directory that is a link, of somebody else, or that others can write to is
// not used. Both sides ask the kernel for the user at the other end, too (SO_PEERCRED): the server
// accepts its own user and root, the client the owner of the directory.
//
// Close removes the socket, and the directory with the last one. What a gorun that was killed has left refuses
// connections, and Jobs and the next Listen remove it.
//
// A client sends a line for each report that it wants. The answer is one line of JSON.
package inspection
