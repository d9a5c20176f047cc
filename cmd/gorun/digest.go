package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	goruntime "runtime"
	"strings"
	"sync"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// ownFile is the executable of this process, even if the file was replaced since.
const ownFile = "/proc/self/exe"

// digest returns the hash of a file, or why it has none.
func digest(path string) link.Digest {
	f, err := os.Open(path)
	if err != nil {
		return link.Digest{Why: err.Error()}
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return link.Digest{Why: err.Error()}
	}
	return link.Digest{Hash: sum.Sum(nil)}
}

// released is the version of a gorun that everybody builds from the same code. Others name
// no code: those of the go command's "(devel)", or of a commit that was changed.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

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
			f.digests = append(f.digests, digest(path))
		}
		f.own = ownDigest()
	}()
	return f
}

// ownDigest tells one gorun from another of the same version.
func ownDigest() link.Digest {
	if released.MatchString(moduleVersion()) {
		return link.Digest{}
	}
	return digest(ownFile)
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
