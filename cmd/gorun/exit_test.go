package main_test

import (
	"bytes"
	"debug/elf"
	encoding "encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The exit code and the messages of gorun show the first failure of the job, or the reason why the job could
// not start.
func TestExitCodes(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(notExecutable, []byte("text\n"), 0o644))
	noFormat := filepath.Join(t.TempDir(), "noformat")
	require.NoError(t, os.WriteFile(noFormat, []byte("\x01\x02\x03\n"), 0o755))
	noInterpreter := filepath.Join(t.TempDir(), "nointerpreter")
	require.NoError(t, os.WriteFile(noInterpreter, []byte("#!/does/not/exist\n"), 0o755))
	windowsLines := filepath.Join(t.TempDir(), "windows")
	require.NoError(t, os.WriteFile(windowsLines, []byte("#!/bin/sh\r\ntrue\r\n"), 0o755))
	otherProcessor := filepath.Join(t.TempDir(), "other")
	header := []byte("\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16\x00\x00\x00\x01") // 64 bits, big-endian, executable, S/390
	require.NoError(t, os.WriteFile(otherProcessor, append(header, make([]byte, 40)...), 0o755))
	noLoader := dynamic(t, "/no/such/loader")
	one := func(action string) []string {
		return []string{"-np", "3", "sh", "-c", `if [ $GORUN_RANK = 1 ]; then ` + action + `; fi; exec sleep 1000`}
	}
	for name, c := range map[string]struct {
		args []string
		code int
		err  []string // texts in standard error
	}{
		"all well":           {[]string{"-np", "3", "true"}, 0, nil},
		"default is one":     {[]string{"sh", "-c", "exit $GORUN_SIZE"}, 1, nil},
		"all fail":           {[]string{"-n", "3", "false"}, 1, []string{"exit code 1", "first failure: rank"}},
		"one fails":          {one("echo reason >&2; exit 7"), 7, []string{"first failure: rank 1 ", "exited with code 7", "  | reason"}},
		"one is killed":      {one("kill -SEGV $$"), 139, []string{"rank 1 ", "SIGSEGV (signal 11, segmentation fault)"}},
		"one is killed hard": {one("kill -KILL $$"), 137, []string{"rank 1 ", "SIGKILL"}},
		"timeout":            {[]string{"-np", "2", "-timeout", "0.05", "sleep", "1000"}, 124, []string{"timeout after 50ms", "no rank has joined"}},
		"not in PATH":        {[]string{"-np", "2", "no-such-program"}, 127, []string{"no-such-program: not found in PATH"}},
		"no such file":       {[]string{"-np", "2", "./no-such-program"}, 127, []string{"gorun: ./no-such-program: no such file or directory"}},
		"a directory":        {[]string{"internal"}, 127, []string{"internal: not found in PATH; did you mean ./internal?"}},
		"a library":          {[]string{"./internal/link"}, 125, []string{"gorun: cannot build ./internal/link: a program is a package main, with a function main"}},
		"no Go files":        {[]string{"./internal"}, 125, []string{"no Go files in", "gorun: cannot build ./internal (exit status 1)"}},
		"not executable":     {[]string{notExecutable}, 126, []string{"not executable"}},
		"no known format":    {[]string{noFormat}, 126, []string{"exec format error (it is neither an executable of Linux nor a script"}},
		"another processor":  {[]string{otherProcessor}, 126, []string{"exec format error (it is built for EM_S390, and this host has "}},
		"lines of Windows":   {[]string{windowsLines}, 127, []string{`its first line names the interpreter "/bin/sh\r": the lines end as on Windows`}},
		"a directory before": {[]string{"bin/no-such-program"}, 127, []string{"gorun: bin/no-such-program: no such file or directory"}},
		"a word for a flag":  {[]string{"versio"}, 127, []string{"versio: not found in PATH; did you mean gorun -version?"}},
		"no word for a flag": {[]string{"hello"}, 127, []string{"gorun: hello: not found in PATH\n"}},
		"doctor too late":    {[]string{"-np", "2", "doctor"}, 127, []string{"did you mean gorun doctor (as the first word)?"}},
		"empty name":         {[]string{""}, 127, []string{`gorun: "": not found in PATH`}},
		"value as a program": {[]string{"-encrypt", "yes", "true"}, 125, []string{"-encrypt yes: write -encrypt=yes"}},
		"no interpreter":     {[]string{noInterpreter}, 127, []string{"interpreter"}},
		"no loader":          {[]string{noLoader}, 127, []string{"no such file or directory (it needs the dynamic loader /no/such/loader; a Go program that is built with CGO_ENABLED=0 needs none)"}},
		"in this directory":  {[]string{"rank_program_test.go"}, 125, []string{"cannot build"}},
		"no program":         {[]string{"-np", "2"}, 125, []string{"no program"}},
		"empty program":      {[]string{"-np", "1", "true", ":"}, 125, []string{"no program"}},
		"no ranks":           {[]string{"-np", "0", "true"}, 125, []string{"-np 0: want a number"}},
		"empty number":       {[]string{"-np", "", "true"}, 125, []string{`-np "": want a number of ranks`}},
		"empty report":       {[]string{"-report", "", "true"}, 125, []string{`-report "": want a path`}},
		"empty directory":    {[]string{"-output-dir", "", "true"}, 125, []string{`-output-dir "": want a path`}},
		"bad flag":           {[]string{"-tmeout", "3", "true"}, 125, []string{"did you mean -timeout?"}},
		"no directory":       {[]string{"-wdir", "/no/such", "true"}, 125, []string{"-wdir /no/such"}},
		"bad report":         {[]string{"-report", "/no/such/x.json", "true"}, 125, []string{"-report"}},
		"left without saying": {helper([]string{"-np", "3"}, "leave", "1"), 1, []string{
			"first failure: rank 1 ", "exited with code 0 without leaving the job", "runtime.Main", "World.Close",
		}},
		"aborted": {helper([]string{"-np", "3"}, "abort", "2"), 9, []string{
			"first failure: rank 2 ", "aborted the job with code 9: ran out of work", "  | no more work",
		}},
		"speaks nonsense": {helper([]string{"-np", "3"}, "garbage", "0"), 125, []string{"rank 0 ", "broke the protocol"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := exits(t, c.code, c.err, c.args...)
			if c.code == 0 {
				require.Empty(t, got.err)
			}
			require.LessOrEqual(t, strings.Count(got.err, "first failure"), 1)
		})
	}
}

// dynamic returns the path of an executable for this processor that needs a dynamic loader, and has no code.
func dynamic(t *testing.T, loader string) string {
	t.Helper()
	const header, program = 64, 56 // bytes
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[goruntime.GOARCH]
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Phoff: header, Ehsize: header, Phentsize: program, Phnum: 1}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	size := uint64(len(loader) + 1)
	p := elf.Prog64{Type: uint32(elf.PT_INTERP), Flags: uint32(elf.PF_R), Off: header + program, Filesz: size, Memsz: size}
	var b bytes.Buffer
	require.NoError(t, errors.Join(encoding.Write(&b, encoding.LittleEndian, h), encoding.Write(&b, encoding.LittleEndian, p)))
	b.WriteString(loader + "\x00")
	name := filepath.Join(t.TempDir(), "dynamic")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o755))
	return name
}

// If a job fails, gorun names the ranks that have exited with code 0 before they joined the job. It does not name
// ranks that gorun itself has asked to end, nor programs of which none joins.
func TestRanksThatDoNotJoinAreNamed(t *testing.T) {
	const named = "without joining the job, which may be the cause: call runtime.Main in every rank\n"
	joins := func(name string, args ...string) []string {
		return append([]string{self, helperPrefix + name}, args...)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		err  []string // texts in standard error; nil if no rank is to be named
	}{
		"several":      {append([]string{"-np", "2", "true", ":", "-np", "2"}, joins("die", "2", "9")...), 137, []string{"first failure: rank 2 ", "gorun: ranks 0-1 exited with code 0 " + named}},
		"one":          {append([]string{"-np", "1", "true", ":", "-np", "2"}, joins("listen", "", "", "3")...), 3, []string{"gorun: rank 0 exited with code 0 " + named}},
		"asked to end": {append([]string{"-timeout", "1s", "-np", "1", "sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done", ":", "-np", "1"}, joins("join")...), 124, nil},
		"none joins":   {[]string{"-np", "2", "sh", "-c", "exit $((3 * $GORUN_RANK))"}, 3, nil},
		"success":      {append([]string{"-np", "1", "true", ":", "-np", "2"}, joins("join")...), 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := exits(t, c.code, c.err, c.args...)
			if c.err == nil {
				require.NotContains(t, got.err, named)
			}
		})
	}
}

// If the text of a flag such as -h cannot be written, gorun prints the reason and exits with code 125.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, flags := range [][]string{{"-h"}, {"-version"}, {"-man"}, {"-completion", "bash"}, {"doctor", "-h"}, {"doctor"}, {"inspect", "-h"}, {"-k8s-manifest", "-np", "2", "-image", "ring:1", "ring"}} {
		r := command(t, nil, flags...)
		r.Stdout = full
		require.NoError(t, r.Start())
		require.Equal(t, 125, r.wait(t), flags)
		require.Contains(t, r.err.String(), "gorun: the output is incomplete: write /dev/stdout: no space left on device")
	}
}

// Ranks that fail because the job ends are not reported as the first failure.
func TestFollowersAreNotBlamed(t *testing.T) {
	// The other ranks fail only after they get the signal that ends the job.
	got := gorun(t, nil, "-np", "8", "sh", "-c", `
		if [ $GORUN_RANK = 5 ]; then echo broken >&2; exit 3; fi
		trap 'echo also broken >&2; exit 4' TERM
		while :; do sleep 0.05; done`)
	require.Equal(t, 3, got.code)
	require.Contains(t, got.err, "first failure: rank 5 ")
	require.Contains(t, got.err, "  | broken")
}

// With -on-failure continue, the other ranks get a notice of the loss with its cause, and go on.
func TestContinueTellsTheSurvivors(t *testing.T) {
	got := gorun(t, nil, helper([]string{"-np", "4", "-on-failure", "continue"}, "die", "2", "9")...)
	require.Equal(t, 137, got.code)
	for _, rank := range []string{"0", "1", "3"} {
		require.Contains(t, got.out, "rank "+rank+" heard: rank 2 was killed by SIGKILL (signal 9, killed)\n")
	}
	require.Contains(t, got.err, "the others go on")
	require.Contains(t, got.err, "first failure: rank 2 ")
}

// With -on-failure continue, the exit code is that of the first failure, even if survivors fail later.
func TestContinueKeepsTheFirstExitCode(t *testing.T) {
	// The survivors exit with 6 after the notice.
	got := gorun(t, nil, helper([]string{"-np", "3", "-on-failure", "continue"}, "die", "1", "9", "6")...)
	require.Equal(t, 137, got.code)
	require.Contains(t, got.err, "rank 1 ")
	require.Contains(t, got.err, "exited with code 6; the others go on")
}

// If the limit of file descriptors is too low, the error has the limit and the number of descriptors that the
// job needs. With a limit of that number, the job runs.
func TestTooFewDescriptors(t *testing.T) {
	const ranks = 30
	limited := func(n int) result {
		r := command(t, nil)
		r.Path, r.Args = "/bin/sh", []string{"sh", "-c", fmt.Sprintf("ulimit -n %d && exec %s -np %d true", n, binary, ranks)}
		require.NoError(t, r.Start())
		return result{code: r.wait(t), out: r.out.String(), err: r.err.String()}
	}
	got := limited(64)
	require.Equal(t, 125, got.code)
	// The text before this one is that of EMFILE, or that of EBADF after a dup3 in the child to a number above the
	// limit.
	require.Contains(t, got.err, ": this process may have 64 files open at a time, and 30 ranks need up to 220: raise the limit (ulimit -Hn)")
	got = limited(220)
	require.Zero(t, got.code, got.err)
}

// TestHandledLossIsNoFailure checks that the loss of a rank does not count as a failure if the program reports
// its recovery from the loss. Failures from which the program has not recovered do count.
func TestHandledLossIsNoFailure(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	got := gorun(t, nil, helper([]string{"-np", "4", "-on-failure", "continue", "-report", name}, "die", "2", "9", "0", "handle")...)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "was killed by SIGKILL (signal 9, killed); the others go on")
	require.NotContains(t, got.err, "failed")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), `"loss_handled": true`)

	got = gorun(t, nil, helper([]string{"-np", "3", "-on-failure", "continue"}, "die", "1", "9", "6", "handle")...)
	require.Equal(t, 6, got.code, "the survivors fail themselves")
	require.NotContains(t, got.err, "first failure: rank 1 ")

	got = gorun(t, nil, helper([]string{"-np", "3"}, "die", "1", "9", "0", "handle")...)
	require.Equal(t, 137, got.code, "no rank goes on without it")
}
