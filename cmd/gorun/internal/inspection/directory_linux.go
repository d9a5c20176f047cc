package inspection

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// runtimeDirectories contains the XDG_RUNTIME_DIR of each user on systems with systemd.
	runtimeDirectories = "/run/user"
	// temporary is searched in addition to TMPDIR, because the TMPDIR of gorun and of a client may differ.
	temporary = "/tmp"
	// underRuntime is the name of the directory of sockets in XDG_RUNTIME_DIR. In TMPDIR the name is
	// inTemporary followed by the user's ID.
	underRuntime, inTemporary = "gorun", "gorun-"
	// directoryMode is the mode of the directory. forOthers masks the permissions of users other than the
	// owner, and writable masks their permissions to write.
	directoryMode, forOthers, writable = 0o700, 0o077, 0o022
)

// ErrDirectory is the error for a directory in which another user could have created sockets.
var ErrDirectory = errors.New("it is not used")

// directory is the directory with the sockets of one user's jobs. Its file is open until close.
type directory struct {
	path  string
	owner int
	file  *os.File
}

// Directories returns the paths of the directories in which the sockets of this user's jobs are
// looked for. Listen uses the first one.
func Directories() []string {
	user := os.Geteuid()
	name := inTemporary + strconv.Itoa(user)
	var all []string
	add := func(path string) {
		if !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); isRuntime(dir, user) {
		add(filepath.Join(dir, underRuntime))
	}
	add(filepath.Join(os.TempDir(), name))
	if dir := filepath.Join(runtimeDirectories, strconv.Itoa(user)); isRuntime(dir, user) {
		add(filepath.Join(dir, underRuntime))
	}
	add(filepath.Join(temporary, name))
	return all
}

// isRuntime reports whether a directory can be the XDG_RUNTIME_DIR of a user. After su(1) the variable
// may still name the directory of the previous user.
func isRuntime(dir string, user int) bool {
	var st unix.Stat_t
	return filepath.IsAbs(dir) && unix.Stat(dir, &st) == nil && refusal(&st, user) == "" && unix.Access(dir, unix.W_OK|unix.X_OK) == nil
}

// refusal returns the reason why a user's sockets must not be in a directory with the attributes st, or "" if
// the directory is acceptable.
func refusal(st *unix.Stat_t, user int) string {
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFLNK:
		return "it is a link"
	case kind != unix.S_IFDIR:
		return "it is no directory"
	case int(st.Uid) != user:
		return fmt.Sprintf("it belongs to user %d", st.Uid)
	case st.Mode&writable != 0:
		return fmt.Sprintf("others can write to it (mode %04o)", st.Mode&^unix.S_IFMT)
	}
	return ""
}

// makeDirectory creates a directory of this user if it does not exist yet, and opens it.
func makeDirectory(path string) (*directory, error) {
	if err := os.Mkdir(path, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	d, err := openDirectory(path, os.Geteuid())
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(int(d.file.Fd()), &st); err == nil && st.Mode&forOthers != 0 {
		err = unix.Fchmod(int(d.file.Fd()), directoryMode)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("permissions of %s: %w", path, err), d.close())
	}
	return d, nil
}

// openDirectory opens a directory of sockets that must belong to owner. The error is ErrDirectory if
// another user could have created sockets in it.
func openDirectory(path string, owner int) (*directory, error) {
	file, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	var st unix.Stat_t
	if err != nil {
		if unix.Lstat(path, &st) == nil {
			if why := refusal(&st, owner); why != "" {
				err = fmt.Errorf("directory %s: %s: %w", path, why, ErrDirectory)
			}
		}
		return nil, err
	}
	d := &directory{path: path, owner: owner, file: file}
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, errors.Join(fmt.Errorf("owner of %s: %w", path, err), d.close())
	}
	if why := refusal(&st, owner); why != "" {
		return nil, errors.Join(fmt.Errorf("directory %s: %s: %w", path, why, ErrDirectory), d.close())
	}
	return d, nil
}

// address returns the address of a socket in the directory. The address is the socket's path, because
// programs that remove old files compare paths with the addresses of the sockets in use. If the path is too
// long for an address, a path through the directory's descriptor is used instead.
func (d *directory) address(name string) *net.UnixAddr {
	path := filepath.Join(d.path, name)
	var a unix.RawSockaddrUnix
	if len(path) >= len(a.Path) {
		path = fmt.Sprintf("/proc/self/fd/%d/%s", d.file.Fd(), name)
	}
	return &net.UnixAddr{Name: path, Net: "unix"}
}

// dial connects to a socket in the directory. The error is ErrUser if the process that listens there does not
// belong to the directory's owner.
func (d *directory) dial(name string) (*net.UnixConn, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(d.file.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, unix.ENOTSOCK
	}
	conn, err := net.DialUnix("unix", nil, d.address(name))
	if err != nil {
		return nil, err
	}
	if user, err := userOf(conn); err != nil || user != d.owner {
		return nil, errors.Join(err, ErrUser, conn.Close())
	}
	return conn, nil
}

// remove removes a socket from the directory. It is no error if there is no such socket.
func (d *directory) remove(name string) error {
	if err := unix.Unlinkat(int(d.file.Fd()), name, 0); err != nil && err != unix.ENOENT {
		return fmt.Errorf("remove %s: %w", filepath.Join(d.path, name), err)
	}
	return nil
}

// close closes the directory.
func (d *directory) close() error { return d.file.Close() }

// leave closes the directory, and removes it if it is empty.
func (d *directory) leave() error {
	_ = unix.Rmdir(d.path)
	return d.close()
}
