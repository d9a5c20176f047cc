package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// installWord begins the line in which installScript prints the path of the directory for gorun.
const installWord = "gorun-copy "

// installScript installs and executes gorun in the shell of a host. The script is sent as input of the shell
// and not as an argument. An argument would have to be quoted for some commands of -rsh (those that pass their
// arguments to a shell), and must not be quoted for others. The script prints the line that begins with
// installWord. Then it reads the compressed executable (%d bytes) from its input. The sender sends the executable
// only after it has received this line. Only the user has access to the directory (mktemp(1)). The script executes
// gorun in place of the shell, and gorun removes the directory when it ends. If the execution fails, the shell
// removes the directory. The script does not change the umask of the login, because ranks inherit it.
const installScript = `d=$(mktemp -d "${TMPDIR:-/tmp}/` + scratchPrefix + `XXXXXXXX") && trap 'rm -rf "$d"' EXIT && ` +
	`echo "` + installWord + `$d" && head -c %d | gzip -dc >"$d/gorun" && chmod 700 "$d/gorun" && exec "$d/gorun" ` + agentCommand + ` "$d"; exit` + "\n"

// packed is a compressed file in memory.
type packed struct {
	bytes []byte // the compressed contents
	hash  []byte // SHA-256 of the uncompressed contents
	err   error
}

// ownPacked returns this executable, compressed by gzip because nearly every host has gzip.
var ownPacked = sync.OnceValue(func() (p packed) {
	f, err := os.Open(ownFile)
	if err != nil {
		return packed{err: err}
	}
	defer func() { _ = f.Close() }()
	var to bytes.Buffer
	sum := sha256.New()
	w, err := gzip.NewWriterLevel(&to, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(io.MultiWriter(w, sum), f)
	}
	if err == nil {
		err = w.Close()
	}
	return packed{to.Bytes(), sum.Sum(nil), err}
})

// packedGorun returns the compressed executable of gorun, and the hash of the uncompressed one.
func packedGorun() (text, hash []byte, err error) {
	p := ownPacked()
	return p.bytes, p.hash, p.err
}

// install sends installScript and gorun to a host's shell, which starts gorun. If hash is not nil, the
// executable must have this hash.
func install(in *bufio.Reader, out io.Writer, hash []byte) error {
	packed, own, err := packedGorun()
	if err == nil && hash != nil && !bytes.Equal(own, hash) {
		err = errors.New("the gorun of this host differs from the launcher's")
	}
	if err != nil {
		return fmt.Errorf("gorun cannot be copied: %w", err)
	}
	if _, err := fmt.Fprintf(out, installScript, len(packed)); err != nil {
		return err
	}
	line, err := readLine(in)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, installWord) {
		return &link.NoiseError{Said: []byte(line)}
	}
	_, err = out.Write(packed)
	return err
}

// loaderRemedy returns a text about the dynamic loader that an executable needs on another host. It returns
// "" if the executable needs no loader or cannot be read.
func loaderRemedy(path string) string {
	loader := loaderOf(path)
	if loader == "" {
		return ""
	}
	return "; this gorun is linked with the C library and needs its " + loader + " there: one that is built with CGO_ENABLED=0 needs no loader"
}

// loaderOf returns the path of the dynamic loader that an executable needs. It returns "" if the executable needs no
// loader or cannot be read.
func loaderOf(path string) string {
	executable, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = executable.Close() }()
	for _, p := range executable.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > loaderBytesMax {
			continue
		}
		if loader, err := io.ReadAll(p.Open()); err == nil {
			return string(bytes.TrimRight(loader, "\x00"))
		}
	}
	return ""
}

// loaderBytesMax is the largest length of the path of a loader, with the zero byte at its end.
const loaderBytesMax = 4096

// installLineMax is the largest length of the line that installScript prints, with its newline.
const installLineMax = 4096

func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < installLineMax {
		b, err := in.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			return "", &link.NoiseError{Said: line}
		case err != nil:
			return "", err
		case b == '\n':
			return string(line), nil
		}
		line = append(line, b)
	}
	return "", &link.NoiseError{Said: line}
}

// pack returns the compressed contents of a file. It reads and compresses the file only once for all hosts.
func (f *files) pack(i int) ([]byte, error) {
	f.packing.Lock()
	defer f.packing.Unlock()
	if f.packed[i] != nil {
		return f.packed[i], nil
	}
	from, err := os.Open(f.paths[i])
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	var to bytes.Buffer
	w, err := zstd.NewWriter(&to, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err == nil {
		_, err = io.Copy(w, from)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err // f.packed[i] stays nil: the next host must not get an incomplete file either
	}
	f.packed[i] = to.Bytes()
	return f.packed[i], nil
}
