// Package inspection connects gorun inspect to the gorun that runs a job, over a Unix socket.
//
// The socket is a file of mode 0600 in a directory of mode 0700 that belongs to the user. The directory
// is "gorun" in XDG_RUNTIME_DIR if that belongs to the user and nobody else can write to it, otherwise
// "gorun-UID" in TMPDIR or /tmp. A directory is not used if it is a symbolic link, belongs to another user, or
// is writable for others. In addition both sides ask the kernel for the user at the other end (SO_PEERCRED).
// The server accepts its own user and root. The client accepts the owner of the directory.
//
// Server.Close removes the socket, and also the directory if it has no other socket. The socket of a gorun
// that was killed remains and refuses connections. The next call of Jobs or Listen removes it.
//
// A client sends one line for each report that it requests: the rank whose Log it wants, or -1. The
// answer is one line of JSON.
package inspection
