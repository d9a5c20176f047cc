package main

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// ownText returns the bytes of this test's executable, which the go command has built.
func ownText(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(ownFile)
	require.NoError(t, err)
	require.NotEmpty(t, buildID(bytes.NewReader(text)), "the go command gives executables an ID")
	return text
}

// digestOf returns the digest of a file with this content.
func digestOf(t *testing.T, text []byte, whole bool) link.Digest {
	t.Helper()
	name := filepath.Join(t.TempDir(), "prog")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return digest(name, whole)
}

// The digest of a Go program is its build ID and size, so that gorun need not read the whole file.
// Files without a valid build ID are hashed.
func TestDigestOfAGoProgramIsItsBuild(t *testing.T) {
	text := ownText(t)
	id := buildID(bytes.NewReader(text))
	own := digestOf(t, text, false)
	require.Empty(t, own.Why)
	require.False(t, differ(own, digest(ownFile, false)), "a copy is the same file")
	require.True(t, differ(own, digestOf(t, append(text[:len(text):len(text)], 0), false)), "a longer file")
	last := id[strings.LastIndex(id, "/")+1:]
	other := bytes.Replace(text, []byte(id), []byte(strings.Replace(id, last, strings.Repeat("x", len(last)), 1)), 1)
	require.True(t, differ(own, digestOf(t, other, false)), "another build")
	sum := sha256.Sum256(text)
	require.Equal(t, sum[:], digestOf(t, text, true).Hash)
	for what, changed := range map[string][]byte{
		"no ID":       bytes.Replace(text, []byte(id), bytes.Repeat([]byte{0}, len(id)), 1),
		"ID of users": bytes.Replace(text, []byte(id), []byte(strings.Repeat("r", len(id))), 1),
		"a script":    []byte("#!/bin/sh\n"),
		"nothing":     nil,
	} {
		sum := sha256.Sum256(changed)
		require.Equal(t, sum[:], digestOf(t, changed, false).Hash, what)
	}
}

// For a truncated executable, buildID returns either the whole ID or "".
func TestBuildIDOfTruncatedExecutables(t *testing.T) {
	text := ownText(t)
	id := buildID(bytes.NewReader(text))
	for n := 0; n < len(text); n += 1 + n/64 {
		got := buildID(bytes.NewReader(text[:n]))
		require.Contains(t, []string{"", id}, got, "%d bytes", n)
	}
}

// digest returns a reason instead of a hash for a path that does not exist or is not a regular file.
func TestDigestOfWhatIsNoFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o700))
	for _, path := range []string{fifo, t.TempDir(), os.DevNull} {
		d := digest(path, false) // must not block until the FIFO has a writer
		require.Empty(t, d.Hash)
		require.Equal(t, path+" is no regular file", d.Why)
	}
	d := digest(fifo+".no", true)
	require.Empty(t, d.Hash)
	require.Contains(t, d.Why, "no such file")
}

// For an executable that is linked with the C library, loaderRemedy names the dynamic loader that a host
// needs. For other files, it returns "".
func TestLoaderRemedy(t *testing.T) {
	sh, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	text, err := os.ReadFile(sh)
	require.NoError(t, err)
	if !bytes.Contains(text[:min(len(text), 1<<12)], []byte("/ld-")) {
		t.Skip("this machine's shell is linked statically")
	}
	require.Regexp(t, `needs its /\S*/ld-\S+ there: one that is built with CGO_ENABLED=0`, loaderRemedy(sh))
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600))
	for _, path := range []string{script, script + ".no"} {
		require.Empty(t, loaderRemedy(path))
	}
	for n := 0; n < len(text); n += 1 + n/8 {
		require.NoError(t, os.WriteFile(script, text[:n], 0o600))
		_ = loaderRemedy(script) // must not panic for a truncated file
	}
}

// released accepts only versions that identify the source code of gorun. isContentID accepts only build IDs
// that have the four parts which the go command makes.
func TestFormsOfVersionsAndBuildIDs(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.2.3": true, "v10.0.20-rc.1": true, "v0.0.0-20260102030405-0123456789ab": true,
		"": false, "(devel)": false, "1.2.3": false, "v1.2": false, "v1.2.3.4": false, "v1..3": false, "v1.2.x": false,
		"v1.2.3-": false, "v1.2.3+dirty": false, "v1.2.3-rc.1+dirty": false, "v1.2.3-a b": false,
	} {
		require.Equal(t, want, released(version), version)
	}
	part := "0123456789abcdeXYZ_-"
	for id, want := range map[string]bool{
		strings.Join([]string{part, part, part, part}, "/"):           true,
		strings.Join([]string{part, part, part}, "/"):                 false,
		strings.Join([]string{part, part, part, part, part}, "/"):     false,
		strings.Join([]string{part, part, part, part[1:]}, "/"):       false,
		strings.Join([]string{part, part, part, part + "0"}, "/"):     false,
		strings.Repeat(part[:19]+".", 4):                              false,
		strings.Join([]string{part, part, part, part[1:] + "."}, "/"): false,
		"": false,
	} {
		require.Equal(t, want, isContentID(id), id)
	}
}
