package allocation

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Environment variables by which the containers of a job find each other. The manifest that
// gorun -k8s-manifest writes sets them, except EnvAttempt. Kubernetes sets the index of a container in the job,
// JOB_COMPLETION_INDEX.
const (
	EnvPods       = "GORUN_PODS"        // the number of pods
	EnvPodSlots   = "GORUN_POD_SLOTS"   // the number of ranks that each pod takes; 1 if it is not set
	EnvPodRoot    = "GORUN_POD_ROOT"    // name and port of the first pod: "job-0.job:29400"
	EnvSecretFile = "GORUN_SECRET_FILE" // path of the file with the secret, which only the pods can read
	EnvAttempt    = "GORUN_ATTEMPT"     // a different text for each attempt of a job that the platform restarts
)

// SecretFile is the path of the file with the secret of the pods if EnvSecretFile is not set.
const SecretFile = "/etc/gorun/secret"

// Pods is the information that a container platform gives the containers of a job. The platform has started
// the same command line in each container. In the first container, gorun is the launcher of the job. In the
// other containers, gorun is an agent.
type Pods struct {
	Index, Count int    // the number of this pod, from 0, and the number of pods
	Slots        int    // the slots of each pod; 0 means one per processor
	Root         string // name or address of the first pod
	Port         uint16 // the port on which the first pod listens; may be 0 if the job has one pod
	Secret       string // path of the file with the secret
	Attempt      string // the value of EnvAttempt
}

// podsMax bounds the number of containers of a job. Kubernetes allows no more for an Indexed Job.
const podsMax = 100000

// pods finds the containers of a job. It reads the environment variables that gorun's own manifest sets, or
// the variables that the torch runtime of Kubeflow Trainer sets for torchrun. It returns nil if neither GORUN_PODS
// nor PET_NNODES is set.
func pods(getenv func(string) string) (*Allocation, error) {
	p := &Pods{Secret: getenv(EnvSecretFile), Attempt: getenv(EnvAttempt)}
	if p.Secret == "" {
		p.Secret = SecretFile
	}
	var a *Allocation
	var err error
	switch {
	case getenv(EnvPods) != "":
		a = &Allocation{Source: "the pods of an Indexed Job", From: EnvPods + ", " + EnvPodRoot}
		err = p.own(getenv)
	case getenv("PET_NNODES") != "":
		a = &Allocation{Source: "the pods of a TrainJob", From: "PET_NNODES, PET_NPROC_PER_NODE, PET_MASTER_ADDR"}
		err = p.torch(getenv)
	default:
		return nil, nil //nolint:nilnil // no allocation is no error
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (-host localhost runs a job in this pod alone)", a.Source, err)
	}
	a.Pods = p
	return a, nil
}

// own parses the environment variables that gorun's manifest sets.
func (p *Pods) own(getenv func(string) string) error {
	var port string
	var separated bool
	p.Root, port, separated = cutPort(getenv(EnvPodRoot))
	var e1, e2, e3, e4 error
	p.Count, e1 = number(getenv, EnvPods, 1, podsMax)
	p.Index, e2 = number(getenv, "JOB_COMPLETION_INDEX", 0, max(0, p.Count-1))
	p.Slots = 1
	if getenv(EnvPodSlots) != "" {
		p.Slots, e3 = number(getenv, EnvPodSlots, 1, hostsMax)
	}
	if p.Port, e4 = parsePort(port); e4 != nil || p.Root == "" || !separated {
		e4 = fmt.Errorf("%s=%.80q: want the name and the port of the first pod: job-0.job:29400", EnvPodRoot, getenv(EnvPodRoot))
	}
	return errors.Join(e1, e2, e3, e4)
}

// torch parses the environment variables of torchrun (torch.distributed.run, "Environment Variables").
func (p *Pods) torch(getenv func(string) string) error {
	if low, high, elastic := strings.Cut(getenv("PET_NNODES"), ":"); elastic && low != high {
		return fmt.Errorf("PET_NNODES=%.40s is elastic, and the number of gorun's ranks is fixed: set one number of nodes", getenv("PET_NNODES"))
	}
	once := func(name string) string {
		text := getenv(name)
		if name == "PET_NNODES" {
			text, _, _ = strings.Cut(text, ":")
		}
		if name == "PET_NODE_RANK" && text == "" {
			text = getenv("JOB_COMPLETION_INDEX")
		}
		return text
	}
	var e1, e2, e3, e4 error
	p.Count, e1 = number(once, "PET_NNODES", 1, podsMax)
	p.Index, e2 = number(once, "PET_NODE_RANK", 0, max(0, p.Count-1))
	switch getenv("PET_NPROC_PER_NODE") {
	case "":
		p.Slots = 1
	case "auto", "cpu":
		p.Slots = 0
	case "gpu":
		e3 = errors.New("PET_NPROC_PER_NODE=gpu: gorun counts no GPUs: set numProcPerNode to a number")
	default:
		p.Slots, e3 = number(getenv, "PET_NPROC_PER_NODE", 1, hostsMax)
	}
	if p.Root = getenv("PET_MASTER_ADDR"); p.Root == "" && p.Count > 1 {
		e4 = fmt.Errorf("PET_MASTER_ADDR %w: it names the first pod", errUnset)
	} else if p.Port, e4 = parsePort(getenv("PET_MASTER_PORT")); e4 != nil && p.Count > 1 {
		e4 = fmt.Errorf("PET_MASTER_PORT=%.20q: want the port at which the first pod listens", getenv("PET_MASTER_PORT"))
	} else {
		e4 = nil
	}
	return errors.Join(e1, e2, e3, e4)
}

// indexed returns an error in a pod of an Indexed Job or of a JobSet whose environment does not describe the
// other pods. The function pods has found no such description before.
func indexed(getenv func(string) string) (*Allocation, error) {
	index := getenv("JOB_COMPLETION_INDEX")
	if index == "" {
		return nil, nil //nolint:nilnil // no allocation is no error
	}
	return nil, fmt.Errorf("JOB_COMPLETION_INDEX=%.20s: this is one of the pods of an Indexed Job, and nothing says how many there are and where the first is: "+
		"set %s and %s as gorun -k8s-manifest does; -host localhost runs a job in this pod alone", index, EnvPods, EnvPodRoot)
}

// number returns the value of an environment variable, which must be a number from low to high.
func number(getenv func(string) string, name string, low, high int) (int, error) {
	text := getenv(name)
	if text == "" {
		return 0, fmt.Errorf("%s %w", name, errUnset)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s=%.40q: want a number from %d to %d", name, text, low, high)
	}
	return n, nil
}

// cutPort splits "name:port" or "[address]:port", where address is an IP address. ok is false for
// any other text.
func cutPort(text string) (host, port string, ok bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return text, "", false
	}
	host, port = text[:at], text[at+1:]
	if inside, closed := strings.CutSuffix(strings.TrimPrefix(host, "["), "]"); closed {
		_, err := netip.ParseAddr(inside)
		return inside, port, err == nil
	}
	return host, port, !strings.Contains(host, ":")
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	return uint16(n), err
}
