package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// Names of systems, to which rows refer.
const (
	gorun   = "gorun"
	openMPI = "openmpi"
	mpich   = "mpich"

	protoactor = "protoactor"
	netRPC     = "netrpc"
)

// system is a system that can run a benchmark and be compared: gorun or a peer.
type system struct {
	name       string
	title      string
	compiler   string   // compiler of the twins, "" if the system has no twins, such as gorun
	references string   // directory of the reference codes of all systems
	program    string   // a Go program below bench/peers that starts its own processes, "" if launcher starts them
	module     string   // the module of program whose version is reported, "" for the standard library
	launcher   string   // a name on the PATH; for gorun, the path of the built binary
	within     []string // command that executes the launcher on another host, nil for this machine
	bound      []string // arguments of the launcher that bind each rank to a core
	crowded    []string // fastest arguments in place of bound if ranks may outnumber cores
	always     []string
	env        []string
	network    []string // arguments of the launcher for communication through the network
	overTCP    []string // environment for communication through the network
	spins      bool     // waiting ranks keep their core even if other ranks need it
	variant    bool     // shown in the table, but not a peer that rows compare with
}

// systems returns gorun, the peers and, if ucx is true, the variants of the peers over UCX.
func systems(dir string, ucx bool) []system {
	asRoot := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
	all := make([]system, 0, 5)
	all = append(all,
		system{
			name: gorun, title: "gorun", launcher: filepath.Join(dir, "gorun"), bound: []string{"-bind-to", "core"},
			crowded: []string{"-bind-to", "core"}, network: []string{"-transport", "rdma"},
		},
		system{
			name: openMPI, title: "Open MPI", compiler: "mpicc.openmpi", launcher: "mpirun.openmpi", env: asRoot,
			bound:   []string{"--bind-to", "core", "--map-by", "core"},
			crowded: []string{"--oversubscribe", "--bind-to", "none"},
			network: []string{"--mca", "btl", "tcp,self"},
		},
		system{
			name: mpich, title: "MPICH", compiler: "mpicc.mpich", launcher: "mpirun.mpich",
			bound: []string{"-bind-to", "core"}, spins: true,
			overTCP: []string{"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"},
		},
	)
	if !ucx {
		return all
	}
	over := all[1]
	over.name, over.title, over.variant = "openmpi-ucx", "Open MPI ucx", true
	over.always = []string{
		"--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any", "-x", "UCX_TLS=sm,self",
	}
	local := all[2]
	local.name, local.title, local.variant = "mpich-ucx", "MPICH ucx", true
	local.env = []string{"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=sm,self"}
	return append(all, over, local)
}

// installed returns nil if the compiler and the launcher of the system are installed.
func (s *system) installed() error {
	for _, name := range []string{s.compiler, s.launcher} {
		if name == "" {
			continue
		}
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s: not installed: %w", s.title, err)
		}
	}
	return nil
}

// command returns the command line of a run.
func (s *system) command(dir string, m *measurement, quick bool) []string {
	if s.program != "" {
		command := append([]string{filepath.Join(dir, s.program)}, m.args...)
		if quick {
			command = append(command, m.quick...)
		}
		return command
	}
	placement := s.bound
	if !m.bound {
		placement = s.crowded
	}
	ranks, args := m.ranks, append([]string(nil), m.args...)
	if quick {
		ranks, args = min(ranks, quickRanks), append(args, m.quick...)
	} else if s.spins {
		args = append(args, m.spinning...)
	}
	command := slices.Concat(s.within, []string{s.launcher}, s.always, placement)
	if m.network {
		command = append(command, s.network...)
	}
	command = append(command, "-np", strconv.Itoa(ranks))
	switch {
	case s.compiler == "":
		command = append(command, m.launch...)
		command = append(command, filepath.Join(dir, m.program))
		args = append(args, m.ours...)
	case m.reference != "":
		command = append(command, s.referencePath(m.reference))
	default:
		command = append(command, twinPath(dir, m.program, s.compiler))
	}
	return append(command, args...)
}

// environment returns the variables that are added to the environment of a run.
func (s *system) environment(m *measurement) []string {
	env := slices.Clone(s.env)
	if m.network {
		env = append(env, s.overTCP...)
	}
	if s.name == gorun {
		env = append(env, m.env...)
	}
	return env
}

// twinPath returns the path of the twin of a program that was built with a compiler.
func twinPath(dir, program, compiler string) string {
	return filepath.Join(dir, program+"."+compiler)
}

// moduleDir returns the directory of gorun's module. The module of this program uses gorun's module from that
// directory, not a published version.
func moduleDir() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", launch.Module).Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	dir := string(out[:max(0, len(out)-1)])
	_, err = os.Stat(dir)
	return dir, err
}
