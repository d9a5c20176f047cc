package inspection

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// suffix returns the suffix of the names of this machine's sockets. The name of a socket is the job's name
// and the suffix. The suffix is necessary because several machines can share the directory in a network file
// system. A socket of another machine refuses connections as if no process listened.
func suffix() string {
	host, _ := os.Hostname() // all machines without a name have the same suffix
	return fmt.Sprintf(".%08x", crc32.ChecksumIEEE([]byte(host)))
}

// Jobs returns the sorted names of this user's jobs whose launcher runs on this machine. It removes the sockets
// of jobs whose launcher was killed. The error names the directories that could not be searched. The jobs in
// the other directories are returned even then.
func Jobs() ([]string, error) {
	var jobs []string
	var failed error
	for _, path := range Directories() {
		d, err := openDirectory(path, os.Geteuid())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			var more []string
			var removed bool
			if more, removed, err = d.jobs(); removed {
				err = errors.Join(err, d.leave())
			} else {
				err = errors.Join(err, d.close())
			}
			jobs = append(jobs, more...)
		}
		failed = errors.Join(failed, err)
	}
	slices.Sort(jobs)
	return slices.Compact(jobs), failed
}

// jobs returns the names of the jobs with a socket in the directory. It removes the sockets of this machine to
// which no process listens. removed reports whether it has removed a socket.
func (d *directory) jobs() (jobs []string, removed bool, err error) {
	names, err := d.file.Readdirnames(-1)
	for _, name := range names {
		job, ours := strings.CutSuffix(name, suffix())
		if !ours {
			continue
		}
		switch conn, failure := d.dial(name); {
		case failure == nil:
			jobs = append(jobs, job)
			_ = conn.Close()
		case errors.Is(failure, unix.ECONNREFUSED):
			removed = true
			err = errors.Join(err, d.removeStale(name))
		case errors.Is(failure, unix.EAGAIN): // the socket's backlog is full, so a process listens
			jobs = append(jobs, job)
		}
	}
	return jobs, removed, err
}

// removeStale removes a socket to which no process listens. A new socket also refuses connections in the time
// between bind and listen. During that time, its launcher holds a shared lock of the directory. removeStale
// therefore removes a socket only while it holds the exclusive lock.
func (d *directory) removeStale(name string) error {
	if unix.Flock(int(d.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	defer func() { _ = unix.Flock(int(d.file.Fd()), unix.LOCK_UN) }()
	conn, err := d.dial(name)
	if err == nil {
		return conn.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return nil
	}
	return d.remove(name)
}

// find opens the directory that contains the socket of a job. It searches the directories of this user. If this
// user is root, it also searches the directories of all other users. The error is ErrNoJob if no directory
// contains the socket.
func find(job string) (*directory, error) {
	me := os.Geteuid()
	owners := map[string]int{}
	paths := Directories()
	for _, path := range paths {
		owners[path] = me
	}
	if me == 0 {
		for _, path := range ofOthers() {
			if _, own := owners[path]; !own {
				paths = append(paths, path)
				owners[path] = ownerOf(path)
			}
		}
	}
	for _, path := range paths {
		d, err := openDirectory(path, owners[path])
		if err != nil {
			continue // the error of Jobs names the directory
		}
		var st unix.Stat_t
		if unix.Fstatat(int(d.file.Fd()), job+suffix(), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return d, nil
		}
		_ = d.close()
	}
	return nil, ErrNoJob
}

// ofOthers returns the paths of the directories of sockets of all users. It finds only those at the usual
// places.
func ofOthers() []string {
	var all []string
	for _, pattern := range []string{
		filepath.Join(runtimeDirectories, "*", underRuntime),
		filepath.Join(os.TempDir(), inTemporary+"*"),
		filepath.Join(temporary, inTemporary+"*"),
	} {
		some, _ := filepath.Glob(pattern) // the only error is that of a malformed pattern
		for _, path := range some {
			if ownerOf(path) >= 0 {
				all = append(all, path)
			}
		}
	}
	return all
}

// ownerOf returns the ID of the user in the path of a directory of sockets, or -1 if the path has none.
func ownerOf(path string) int {
	number, temporary := strings.CutPrefix(filepath.Base(path), inTemporary)
	if !temporary {
		number = filepath.Base(filepath.Dir(path))
	}
	user, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return user
}
