package allocation

import "fmt"

// fluxExec is the command that starts an agent on a host of an instance of Flux. The number of the host's
// broker names the host. Like srun, flux exec forwards the output in whole lines.
var fluxExec = []string{"flux", "exec", groupArgument}

// flux finds the instance of Flux in which gorun runs. gorun may run in the shell of flux alloc, in the script
// of flux batch, or in the program that flux start runs. In a task of flux run, flux returns nil: the
// variables describe the instance around the task, and the task shares that instance with other tasks. The
// brokers are numbered in the order of the attribute hostlist (flux-broker-attributes(7)).
func flux(getenv func(string) string) (*Allocation, error) {
	if getenv("FLUX_URI") == "" || getenv("FLUX_TASK_RANK") != "" {
		return nil, nil //nolint:nilnil // no allocation is no error
	}
	return &Allocation{
		Source: "the instance of Flux", From: "FLUX_URI, flux getattr hostlist", Remote: fluxExec,
		Ask: []string{"flux", "getattr", "hostlist"},
	}, nil
}

// Answer sets Hosts from the output of the command Ask. The argument each is the number of slots of each host.
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
