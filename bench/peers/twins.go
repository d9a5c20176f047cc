package main

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// twins contains the sources of the C programs.
//
//go:embed twins
var twins embed.FS

// buildTwins builds the twins of programs with a compiler such as mpicc.mpich. Several comparisons may use the same
// dir and compiler.
func buildTwins(dir, compiler string, programs []string) error {
	sources, err := os.MkdirTemp(dir, "src.")
	if err != nil {
		return err
	}
	if err := os.CopyFS(sources, twins); err != nil {
		return err
	}
	for _, program := range programs {
		command := []string{"-O3", "-march=native", "-o", twinPath(dir, program, compiler), filepath.Join(sources, "twins", program+".c")}
		if out, err := exec.Command(compiler, command...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(command, " "), err, out)
		}
	}
	return nil
}
