package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	goruntime "runtime"
	"strings"
)

// machine describes the machine and the commit of a measurement.
type machine struct {
	CPU        string `json:"cpu"`
	Processors int    `json:"processors"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	Commit     string `json:"commit,omitempty"`
	LoadBefore string `json:"load_before"`
	// Distance is the condition of -near, "" without it.
	Distance string `json:"distance,omitempty"`
}

func thisMachine() machine {
	m := machine{Processors: goruntime.NumCPU(), Go: goruntime.Version() + " " + goruntime.GOARCH}
	cpu := read("/proc/cpuinfo")
	m.CPU = field(cpu, "model name")
	if family := field(cpu, "cpu family"); family != "" { // the name alone may not identify the generation
		m.CPU += fmt.Sprintf(" (family %s, model %s)", family, field(cpu, "model"))
	}
	m.Kernel = strings.TrimSpace(read("/proc/sys/kernel/osrelease"))
	m.LoadBefore = strings.TrimSpace(read("/proc/loadavg"))
	if out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	return m
}

// text returns a line that describes the machine.
func (m *machine) text() string {
	text := fmt.Sprintf("Measured on %s, %d processors, Linux %s, %s", m.CPU, m.Processors, m.Kernel, m.Go)
	if m.Commit != "" {
		text += ", commit " + m.Commit
	}
	if m.Distance != "" {
		text += ", " + m.Distance
	}
	return text + ".\n"
}

// versionLine matches the line that contains the version in the output of Open MPI, MPICH and gorun. In the
// output of Open MPI, the line may name OpenRTE, the part of Open MPI that contains its launcher.
var versionLine = regexp.MustCompile(`\(Open MPI\)|\(OpenRTE\)|Version|gorun`)

// version returns the line in which a launcher prints its version, or "".
func version(launcher string, env []string) string {
	cmd := exec.Command(launcher, "--version")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return ""
	}
	for text := range strings.Lines(string(out)) {
		if versionLine.MatchString(text) {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return ""
}

// read returns the text of a file, or "" if the file cannot be read.
func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// field returns the value of the first "name : value" line.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
