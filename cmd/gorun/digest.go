package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// ownFile is the executable of this process, even if the file was replaced since.
const ownFile = "/proc/self/exe"

// digest tells the contents of a file from others, or says why it cannot. Of an executable
// that the go command has built it is the build ID with the length of the file: the last part
// of that ID is a hash of the whole file, and reading tens of MB on each host costs more than
// the start of the agent. whole asks for a hash of the bytes in any case.
func digest(path string, whole bool) link.Digest {
	// Nonblocking: opening a FIFO would wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return link.Digest{Why: err.Error()}
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	switch {
	case err != nil:
		return link.Digest{Why: err.Error()}
	case !st.Mode().IsRegular():
		return link.Digest{Why: path + " is no regular file"}
	}
	if id := buildID(f); id != "" && !whole {
		return link.Digest{Hash: fmt.Appendf(nil, "%s %d", id, st.Size())}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return link.Digest{Why: err.Error()}
	}
	return link.Digest{Hash: sum.Sum(nil)}
}

// isContentID reports whether a build ID ends with a hash of the executable: action and
// content of the executable around those of its main package (cmd/go/internal/work,
// buildid.go), 20 characters each. Other linkers, and -ldflags=-buildid=, make other ones or none.
func isContentID(id string) bool {
	parts := strings.Split(id, "/")
	return len(parts) == 4 && !slices.ContainsFunc(parts, func(p string) bool {
		return len(p) != 20 || strings.IndexFunc(p, func(c rune) bool { return !alphanumeric(c) && c != '_' && c != '-' }) >= 0
	})
}

func digit(c rune) bool { return c >= '0' && c <= '9' }

func alphanumeric(c rune) bool { return digit(c) || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// buildID returns the go command's ID of an executable, "" if it has none that names its
// contents. It reads the file at offsets of its own.
func buildID(f io.ReaderAt) string {
	executable, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	note := executable.Section(".note.go.buildid")
	if note == nil || note.Size > buildIDBytesMax {
		return ""
	}
	b, err := note.Data()
	// Lengths of name and description, type 4, name, description (cmd/internal/buildid).
	const header = 16
	if err != nil || len(b) < header || string(b[12:header]) != "Go\x00\x00" {
		return ""
	}
	id := string(b[header:])
	if n := int64(executable.ByteOrder.Uint32(b[4:])); n < int64(len(id)) {
		id = id[:n]
	}
	if !isContentID(id) {
		return ""
	}
	return id
}

// buildIDBytesMax bounds the note with a build ID.
const buildIDBytesMax = 4096

// released reports whether a version is that of a gorun that everybody builds from the same code.
// Others name no code: those of the go command's "(devel)", or of a commit that was changed.
func released(version string) bool {
	rest, named := strings.CutPrefix(version, "v")
	core, label, labelled := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	other := func(c rune) bool { return !alphanumeric(c) && c != '.' && c != '-' }
	return named && len(numbers) == 3 && (!labelled || label != "" && strings.IndexFunc(label, other) < 0) &&
		!slices.ContainsFunc(numbers, func(n string) bool {
			return n == "" || strings.IndexFunc(n, func(c rune) bool { return !digit(c) }) >= 0
		})
}

// platform is what executables are made for.
func platform() string { return goruntime.GOOS + "/" + goruntime.GOARCH }

// files are what the hosts are asked to compare: gorun itself, unless its version says what
// it is, and the programs.
type files struct {
	paths   []string
	digests []link.Digest
	own     link.Digest   // zero if the version says it all
	ready   chan struct{} // closed when the digests are there

	packing sync.Mutex     // guards packed
	packed  map[int][]byte // compressed
}

// newFiles starts to read the files of a job.
func (j *job) newFiles() *files {
	f := &files{ready: make(chan struct{}), packed: map[int][]byte{}}
	for i, r := range j.ranks {
		if i == 0 || j.ranks[i-1].path != r.path {
			f.add(r.path)
		}
	}
	go func() {
		defer close(f.ready)
		for _, path := range f.paths {
			f.digests = append(f.digests, digest(path, j.opts.copies))
		}
		f.own = ownDigest(j.opts.copies)
	}()
	return f
}

// ownDigest tells one gorun from another of the same version, or, if whole, one that was copied
// from another that was not.
func ownDigest(whole bool) link.Digest {
	if !whole && released(moduleVersion()) {
		return link.Digest{}
	}
	return digest(ownFile, whole)
}

// add adds a file, unless it is one of them.
func (f *files) add(path string) {
	for _, p := range f.paths {
		if p == path {
			return
		}
	}
	if path != "" { // a dry run does not look for the programs
		f.paths = append(f.paths, path)
	}
}

// differ reports whether two files are known to have different contents.
func differ(a, b link.Digest) bool {
	return len(a.Hash) > 0 && len(b.Hash) > 0 && !bytes.Equal(a.Hash, b.Hash)
}

// compare refuses hosts whose gorun or whose program is not the one here. A program that is
// no Go program, such as a shell of another distribution, is only mentioned.
func (j *job) compare(hosts []*host) error {
	<-j.files.ready
	var errs []error
	other := func(is func(h *host) bool) string {
		var names []string
		for _, h := range hosts {
			if h.hello.Platform == platform() && is(h) {
				names = append(names, h.name)
			}
		}
		return strings.Join(names, ", ")
	}
	if names := other(func(h *host) bool { return differ(h.hello.Gorun, j.files.own) }); names != "" {
		errs = append(errs, fmt.Errorf("host %s: its gorun is another build of version %s than this one: copy this one there, name the right one with -agent-path, or send it with -copy", names, moduleVersion()))
	}
	for i, path := range j.files.paths {
		names := other(func(h *host) bool {
			return i < len(h.hello.Programs) && differ(h.hello.Programs[i], j.files.digests[i])
		})
		if names == "" || j.opts.copies {
			continue
		}
		text := fmt.Sprintf("host %s: %s is not the file that it is here", names, path)
		if _, err := buildinfo.ReadFile(path); err != nil {
			complain("%s", text)
			continue
		}
		errs = append(errs, errors.New(text+": copy it there, or send it with -copy"))
	}
	return errors.Join(errs...)
}
