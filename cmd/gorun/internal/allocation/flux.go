package allocation

import "fmt"

// fluxExec starts an agent on a host of an instance of Flux, by the number of its broker. It
// passes on whole lines, as srun does.
var fluxExec = []string{"flux", "exec", groupArgument}

// flux finds an instance of Flux: in the shell of flux alloc, the script of flux batch, or what
// flux start runs. In a task of flux run the variables are those of the instance around it,
// which is not the task's alone. The brokers are numbered in the order of the attribute
// hostlist (flux-broker-attributes(7)).
func flux(getenv func(string) string) (*Allocation, error) {
	if getenv("FLUX_URI") == "" || getenv("FLUX_TASK_RANK") != "" {
		return nil, nil //nolint:nilnil // no allocation is no error
	}
	return &Allocation{
		Source: "the instance of Flux", From: "FLUX_URI, flux getattr hostlist", Remote: fluxExec,
		Ask: []string{"flux", "getattr", "hostlist"},
	}, nil
}

// Answer takes what the command Ask has printed. each is the number of slots per host.
func (a *Allocation) Answer(text string, each int) error {
	names, err := ParseHostlist(text)
	if err != nil {
		return fmt.Errorf("%s: %w", a.Source, err)
	}
	a.Hosts = make([]Host, len(names))
	for i, name := range names {
		a.Hosts[i] = Host{Name: name, Slots: each, Group: fmt.Sprintf("--rank=%d", i)}
	}
	return nil
}
