package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// gorun refuses to write output and reports through links or special files that another user may
// have made in their place. It replaces a hard link instead of writing to its file.
func TestFilesOfAJobAreNotWrittenElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		flags func(dir string) []string
	}{
		"output":       {"rank.1.out", func(dir string) []string { return []string{"-output-dir", dir} }},
		"error output": {"rank.0.err", func(dir string) []string { return []string{"-output-dir", dir} }},
		"report":       {"r.json", func(dir string) []string { return []string{"-report", filepath.Join(dir, "r.json")} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			precious := filepath.Join(t.TempDir(), "precious")
			for what, place := range map[string]func(at string) error{
				"a symbolic link":     func(at string) error { return os.Symlink(precious, at) },
				"not a regular file":  func(at string) error { return unix.Mkfifo(at, 0o666) },
				"not a regular file ": func(at string) error { return os.Mkdir(at, 0o755) },
				"": func(at string) error { // a hard link: gorun replaces the name and does not write to the file
					return os.Link(precious, at)
				},
			} {
				require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o644))
				dir := t.TempDir()
				require.NoError(t, place(filepath.Join(dir, c.file)))
				args := append([]string{"-np", "2"}, c.flags(dir)...)
				got := gorun(t, nil, append(args, "sh", "-c", "echo out; echo err >&2; : > "+dir+"/ran")...)
				text, err := os.ReadFile(precious)
				require.NoError(t, err)
				require.Equal(t, "precious", string(text), what)
				if what == "" {
					require.Zero(t, got.code, got.err)
					continue
				}
				require.Equal(t, 125, got.code, what)
				require.Contains(t, got.err, args[2]+": ", what)
				require.Contains(t, got.err, c.file, what)
				require.NoFileExists(t, filepath.Join(dir, "ran"), "no rank may run if its output or the report cannot be written")
			}
		})
	}
}

// Links among the directories that lead to a file are followed, and regular files of an earlier job
// are replaced.
func TestDirectoriesOnTheWayAreFollowed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "large disk"), 0o755))
	link := filepath.Join(dir, "out")
	require.NoError(t, os.Symlink("large disk", link))
	for range 2 { // the second time replaces the files of the first
		got := gorun(t, nil, "-output-dir", link, "-report", filepath.Join(link, "r.json"), "echo", "x")
		require.Equal(t, result{}, got)
		for name, want := range map[string]string{"rank.0.out": "x\n", "rank.0.err": "", "r.json": "{\n"} {
			text, err := os.ReadFile(filepath.Join(dir, "large disk", name))
			require.NoError(t, err)
			require.Equal(t, want, string(text[:len(want)]))
		}
	}
	names, err := filepath.Glob(filepath.Join(link, "*"))
	require.NoError(t, err)
	require.Len(t, names, 3, "no temporary file of the report is left")
}

// While gorun writes the report, the report has a name that no other file has. Files beside the report stay as they
// are, and links beside it are not followed. The report may have the longest name of a file, 255 bytes.
func TestFilesBesideTheReportAreKept(t *testing.T) {
	dir := t.TempDir()
	precious, link := filepath.Join(dir, "r.json.part"), filepath.Join(dir, "s.json.part")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o644))
	require.NoError(t, os.Symlink(precious, link))
	for _, name := range []string{"r.json", "s.json", strings.Repeat("r", 255)} {
		require.Equal(t, result{}, gorun(t, nil, "-report", filepath.Join(dir, name), "true"))
		require.FileExists(t, filepath.Join(dir, name))
	}
	text, err := os.ReadFile(link)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
}

// If the report cannot be written, gorun reports that before it starts a rank.
func TestReportThatCannotBeWrittenIsSaidAtOnce(t *testing.T) {
	for _, name := range []string{"/no/such/directory/r.json", t.TempDir(), "."} {
		got := gorun(t, nil, "-report", name, "sh", "-c", "echo started")
		require.Equal(t, 125, got.code, name)
		require.Empty(t, got.out, name)
		require.Contains(t, got.err, "-report: ", name)
	}
}
