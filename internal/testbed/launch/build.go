package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Module is the path of the module of gorun, which begins the import paths of its programs.
const Module = "github.com/gorun-hpc/gorun"

// Install builds packages of gorun's module, such as "cmd/gorun", into a directory, with flags of the go
// command. The name of an executable is the last element of its package's path. root is a directory of a
// module. The go.mod of that module selects the versions of the dependencies.
func Install(root, dir string, flags []string, packages ...string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"-o", dir + string(os.PathSeparator)}, flags)
	for _, p := range packages {
		args = append(args, Module+"/"+p)
	}
	return build(root, nil, args)
}

// build runs go build in a directory with additional environment variables.
func build(dir string, env, args []string) error {
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

var (
	// mu guards the variables below it.
	mu    sync.Mutex
	cache string // the directory of the executables, "" before the first executable is built
	built = make(map[string]bool)
)

// Gorun returns the path of the executable of gorun. The first call builds it. The TestMain of the
// package under test must call Main or Clean.
func Gorun(t *testing.T) string {
	t.Helper()
	return buildIn(t, home(t), "gorun", Module+"/cmd/gorun")
}

// home returns the directory of gorun's module. Programs of gorun are built there, because the test may belong
// to another module, which does not require the dependencies of these programs.
func home(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", Module).Output()
	if err != nil {
		t.Fatal(fmt.Errorf("go list -m %s: %w", Module, err))
	}
	return strings.TrimSpace(string(out))
}

// Build returns the path of the executable of a package. The first call with this name builds it, with
// flags of the go command. All calls with the same name must be for the same program.
func Build(t *testing.T, name, pkg string, flags ...string) string {
	t.Helper()
	return buildIn(t, "", name, pkg, flags...)
}

// buildIn does the work of Build. dir is the directory in which the go command runs, or "" for the directory
// of the test.
func buildIn(t *testing.T, dir, name, pkg string, flags ...string) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if cache == "" {
		var err error
		if cache, err = os.MkdirTemp("", "gorun-test"); err != nil { //nolint:usetesting // it outlives the test
			t.Fatal(err)
		}
	}
	file := filepath.Join(cache, name)
	if !built[name] {
		// cgo is disabled, because programs are usually built without cgo. In a test under the race detector,
		// cgo would be enabled.
		if err := build(dir, []string{"CGO_ENABLED=0"}, slices.Concat([]string{"-o", file}, flags, []string{pkg})); err != nil {
			t.Fatal(err)
		}
		built[name] = true
	}
	return file
}

// Clean removes the executables that Gorun and Build have built.
func Clean() {
	mu.Lock()
	defer mu.Unlock()
	if cache != "" {
		_ = os.RemoveAll(cache)
	}
}

// Main runs the tests of a package, calls Clean and exits. It can be called as TestMain.
func Main(m *testing.M) {
	code := m.Run()
	Clean()
	os.Exit(code)
}
