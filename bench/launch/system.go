package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// system is a launcher whose jobs are measured.
type system struct {
	name    string
	startup string // the program with a barrier, "" if there is none
	line    func(s site, ppn int, program string) []string
	env     []string
}

// job is one job of a system.
type job struct {
	system, program string
	line, env       []string
}

// bare is ssh without a launcher. It opens one connection to each host, all at the same time. It fails if one of them
// fails.
var bare = system{name: "ssh", line: func(s site, _ int, program string) []string {
	return []string{"sh", "-c", "for h in " + strings.Join(s.hosts, " ") + "; do " + s.rsh + " -x -T -oBatchMode=yes $h " + program + " & all=\"$all $!\"; done; for p in $all; do wait $p || exit; done"}
}}

// with returns the names of the hosts, separated by commas. The string after follows each name.
func with(s site, after string) string { return strings.Join(s.hosts, after+",") + after }

// build builds the programs in dir and returns the systems that are installed.
func build(ctx context.Context, dir string) ([]system, error) {
	if err := launch.Install(".", dir, nil, "cmd/gorun", "bench/startup"); err != nil {
		return nil, err
	}
	gorun := filepath.Join(dir, "gorun")
	all := []system{bare, {
		name: "gorun", startup: filepath.Join(dir, "startup"),
		line: func(s site, ppn int, program string) []string {
			return []string{gorun, "-host", with(s, ":"+strconv.Itoa(ppn)), "-rsh", s.rsh, program}
		},
	}}
	for _, mpi := range []struct {
		compiler string
		system
	}{
		{"mpicc.mpich", system{name: "mpiexec.hydra", line: func(s site, ppn int, program string) []string {
			return []string{"mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", s.rsh, "-hosts", with(s, ":"+strconv.Itoa(ppn)), "-n", strconv.Itoa(ppn * len(s.hosts)), program}
		}}},
		{"mpicc.openmpi", system{name: "mpirun.openmpi", env: []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}, line: func(s site, ppn int, program string) []string {
			line := []string{"mpirun.openmpi", "--mca", "plm_rsh_agent", s.rsh, "--host", with(s, ":"+strconv.Itoa(ppn)), "-n", strconv.Itoa(ppn * len(s.hosts))}
			if s.net != "" {
				line = append(line, "--mca", "btl", "tcp,self,vader", "--mca", "btl_tcp_if_include", s.net, "--mca", "oob_tcp_if_include", s.net)
			}
			return append(line, program)
		}}},
	} {
		mpi.startup = filepath.Join(dir, "startup."+mpi.name)
		out, err := exec.CommandContext(ctx, mpi.compiler, "-O2", "-o", mpi.startup, "bench/peers/twins/startup.c").CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "launch: without %s: %s: %v\n%s", mpi.name, mpi.compiler, err, out)
			continue
		}
		all = append(all, mpi.system)
	}
	return all, nil
}

// cases returns the jobs of a round.
func cases(systems []system, s site, ppn int) []job {
	var all []job
	for _, program := range []string{"true", "barrier"} {
		for _, y := range systems {
			file := "true"
			if program == "barrier" {
				file = y.startup
			}
			if file != "" {
				all = append(all, job{system: y.name, program: program, line: y.line(s, ppn, file), env: y.env})
			}
		}
	}
	return all
}
