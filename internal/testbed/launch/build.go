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

// Module is the import path below which the programs lie.
const Module = "github.com/gorun-hpc/gorun"

// Install builds packages of the module, such as "cmd/gorun", into a directory, with
// flags of the go command. The binaries have the packages' last names. root is a
// directory of the module whose go.mod chooses what they are built with.
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

// build runs go build in a directory with additional environment.
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
	cache string // the directory of what was built, "" until something is
	built = make(map[string]bool)
)

// Gorun returns where gorun is, which the first call builds. The TestMain calls Main or
// Clean.
func Gorun(t *testing.T) string {
	t.Helper()
	return buildIn(t, home(t), "gorun", Module+"/cmd/gorun")
}

// home is where the module is. Programs of gorun are built there: the test may be one of a module that does
// not require what these are built with.
func home(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", Module).Output()
	if err != nil {
		t.Fatal(fmt.Errorf("go list -m %s: %w", Module, err))
	}
	return strings.TrimSpace(string(out))
}

// Build is Gorun for a program of any package, built with flags of the go command.
// Programs of one name are the same.
func Build(t *testing.T, name, pkg string, flags ...string) string {
	t.Helper()
	return buildIn(t, "", name, pkg, flags...)
}

// buildIn is Build in a directory, "" for that of the test.
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
		// As without the race detector.
		if err := build(dir, []string{"CGO_ENABLED=0"}, slices.Concat([]string{"-o", file}, flags, []string{pkg})); err != nil {
			t.Fatal(err)
		}
		built[name] = true
	}
	return file
}

// Clean removes what Gorun and Build built.
func Clean() {
	mu.Lock()
	defer mu.Unlock()
	if cache != "" {
		_ = os.RemoveAll(cache)
	}
}

// Main runs the tests and cleans up. It is a TestMain.
func Main(m *testing.M) {
	code := m.Run()
	Clean()
	os.Exit(code)
}
