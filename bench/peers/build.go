package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// timeoutBuild is the timeout for building a peer, including the download of its modules.
const timeoutBuild = 3 * time.Minute

// build builds gorun's own programs, the twins, and the peers that are Go programs. It omits the systems that
// are not installed or cannot be built, and records the reason in the result.
func (c *comparison) build(ctx context.Context, ucx bool) error {
	var programs, twins []string
	for _, m := range c.measurements {
		if !slices.Contains(programs, "bench/"+m.program) {
			programs = append(programs, "bench/"+m.program)
		}
		if !m.alone && m.reference == "" && !slices.Contains(twins, m.program) {
			twins = append(twins, m.program)
		}
	}
	root, err := moduleDir()
	if err != nil {
		return err
	}
	if err := launch.Install(root, c.dir, nil, append(programs, "cmd/gorun")...); err != nil {
		return err
	}
	built := map[string]error{}
	for _, s := range c.peers(c.dir, ucx) {
		s.references = c.references
		i := info{Name: s.name, Title: s.title, Variant: s.variant}
		err := s.installed()
		switch {
		case err != nil:
		case s.compiler != "":
			if _, ok := built[s.compiler]; !ok {
				built[s.compiler] = buildTwins(c.dir, s.compiler, twins)
			}
			err = built[s.compiler]
		case s.program != "":
			err = c.buildProgram(ctx, &s)
		}
		if err != nil {
			i.Missing = err.Error()
			c.log.Print(err)
		} else {
			i.Version = s.version(c.dir)
			if c.ranksOn != nil {
				c.ranksOn.place(&s)
			}
			c.systems = append(c.systems, s)
		}
		c.result.Systems = append(c.result.Systems, i)
	}
	return nil
}

// buildProgram builds a peer that is a Go program. Its directory may be a module of its own.
func (c *comparison) buildProgram(ctx context.Context, s *system) error {
	module, err := moduleDir()
	if err != nil {
		return err
	}
	return buildIn(ctx, filepath.Join(module, "bench", "peers", s.program), filepath.Join(c.dir, s.program), s.title)
}

// buildIn builds the Go program of a directory. The error contains only the last line of the output of go
// build, because go build prints a line for each module if there is no network.
func buildIn(ctx context.Context, dir, binary, title string) error {
	ctx, cancel := context.WithTimeout(ctx, timeoutBuild)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: not built: %w", title, ctx.Err())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: not built: %w: %s", title, err, lines[len(lines)-1])
}

// version returns the version that a system reports, or "" if it is unknown.
func (s *system) version(dir string) string {
	if s.program == "" {
		return version(s.launcher, s.env)
	}
	b, err := buildinfo.ReadFile(filepath.Join(dir, s.program))
	if err != nil {
		return ""
	}
	if s.module == "" {
		return b.GoVersion
	}
	for _, d := range b.Deps {
		if d.Path == s.module {
			return d.Version
		}
	}
	return ""
}
