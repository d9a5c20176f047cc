package rdmavm

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestProgram writes the program of the running test to the file "tests" in a directory of this machine. A
// guest can run this file. If the running program is dynamically linked, TestProgram builds the tests again
// without cgo.
func TestProgram(tb testing.TB, dir string) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	to := filepath.Join(dir, "tests")
	if !static(self) {
		buildTests(tb, to, "CGO_ENABLED=0")
		return
	}
	text, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// LinkedTestProgram does the same as TestProgram for tests that call C. The program is built with cgo, and uses
// the guest's C library, which is from Debian 12. Without a C compiler, LinkedTestProgram skips the test.
func LinkedTestProgram(tb testing.TB, dir string) {
	tb.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		tb.Skip("rdmavm: no C compiler (apt-get install gcc libc6-dev)")
	}
	buildTests(tb, filepath.Join(dir, "tests"), "CGO_ENABLED=1")
}

// buildTests builds the tests of the package under test. The argument setting, in the form NAME=VALUE, is
// added to the environment of the build.
func buildTests(tb testing.TB, to, setting string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", "test", "-c", "-o", to)
	cmd.Env = append(os.Environ(), setting)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("rdmavm: go test -c: %v\n%s", err, out)
	}
}

// static reports whether a program is statically linked. The ELF file of such a program names no interpreter.
func static(file string) bool {
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}
