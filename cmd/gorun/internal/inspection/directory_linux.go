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
	// runtimeDirectories has the XDG_RUNTIME_DIR of each user, where systemd is used.
	runtimeDirectories = "/run/user"
	// temporary has the directories of users whose TMPDIR a client may not know.
	temporary = "/tmp"
	// underRuntime is the name of a directory below XDG_RUNTIME_DIR, inTemporary begins one in TMPDIR; the
	// number of the user follows.
	underRuntime, inTemporary = "gorun", "gorun-"
	// directoryMode are the permissions of the directory, forOthers those of users other than its own, and
	// writable that part of these which changes it.
	directoryMode, forOthers, writable = 0o700, 0o077, 0o022
)

// ErrDirectory says that somebody else could have put sockets into the directory.
var ErrDirectory = errors.New("it is not used")

// directory has the sockets of one user's jobs. It is open until close.
type directory struct {
	path  string
	owner int
	file  *os.File
}

// Directories are those in which jobs of this user are looked for. Listen uses the first one.
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

// isRuntime reports whether a directory can be the XDG_RUNTIME_DIR of a user: after su it is still that of
// the user before.
func isRuntime(dir string, user int) bool {
	var st unix.Stat_t
	return filepath.IsAbs(dir) && unix.Stat(dir, &st) == nil && refusal(&st, user) == "" && unix.Access(dir, unix.W_OK|unix.X_OK) == nil
}

// refusal says why a directory cannot be that of a user, "" if it can.
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

// makeDirectory makes and opens a directory of this user.
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

// openDirectory opens a directory of owner. The error is ErrDirectory if it is one of somebody else.
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

// address is that of a socket in the directory. A path that does not fit is one by the descriptor of the
// directory; the other is preferred because programs that remove old files compare it with the sockets in use.
func (d *directory) address(name string) *net.UnixAddr {
	path := filepath.Join(d.path, name)
	var a unix.RawSockaddrUnix
	if len(path) >= len(a.Path) {
		path = fmt.Sprintf("/proc/self/fd/%d/%s", d.file.Fd(), name)
	}
	return &net.UnixAddr{Name: path, Net: "unix"}
}

// dial connects to a socket in the directory, and expects a process of the owner there.
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

// remove removes a socket.
func (d *directory) remove(name string) error {
	if err := unix.Unlinkat(int(d.file.Fd()), name, 0); err != nil && err != unix.ENOENT {
		return fmt.Errorf("remove %s: %w", filepath.Join(d.path, name), err)
	}
	return nil
}

// close closes the directory.
func (d *directory) close() error { return d.file.Close() }

// leave closes the directory and removes it unless it is in use.
func (d *directory) leave() error {
	_ = unix.Rmdir(d.path)
	return d.close()
}
