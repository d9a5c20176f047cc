package main

import (
	_ "embed" // manifest.yaml.tmpl
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/allocation"
)

// manifestText is a Service, a Secret and an Indexed Job. JSON is YAML, so values are JSON.
//
//go:embed manifest.yaml.tmpl
var manifestText string

// Flags that are not for the pods.
const (
	flagManifest = "k8s-manifest"
	flagImage    = "image"
)

// podPort is where gorun in the first pod listens for the others.
const podPort = 29400

// podGorun is gorun in an image, found by its PATH.
const podGorun = "gorun"

// podNameBytesMax leaves room for the number of a pod in the 63 bytes of a name (RFC 1035).
const podNameBytesMax = 40

// variable is one of a container's environment.
type variable struct{ Name, Value string }

// manifest is what manifestText shows.
type manifest struct {
	Name, Image, Secret string
	Pods, Slots, Port   int
	Restarts            int // of a job that goes on without a pod
	Command             []string
	Env                 []variable
}

// printManifest returns the manifest of a job in Kubernetes. args is the command line.
func printManifest(o *options, args []string) (string, error) {
	slots := o.perPod()
	secret := bootstrap.NewSecret()
	salt := bootstrap.NewSecret()
	m := manifest{
		Name: manifestName(o.apps[0].program, salt), Image: o.image, Secret: hex.EncodeToString(secret[:]),
		Pods: (o.size() + o.spares*len(o.apps) + slots - 1) / slots, Slots: slots, Port: podPort,
		Restarts: o.restarts,
	}
	words, passed := podCommand(args)
	for _, w := range append([]string{podGorun}, words...) {
		m.Command = append(m.Command, strings.ReplaceAll(w, "$", "$$")) // Kubernetes expands $(NAME)
	}
	m.Env = append([]variable{
		{allocation.EnvPods, strconv.Itoa(m.Pods)},
		{allocation.EnvPodSlots, strconv.Itoa(slots)},
		{allocation.EnvPodRoot, fmt.Sprintf("%[1]s-0.%[1]s:%d", m.Name, podPort)},
		{allocation.EnvSecretFile, allocation.SecretFile},
	}, passed...)
	for i := range m.Env {
		m.Env[i].Value = strings.ReplaceAll(m.Env[i].Value, "$", "$$")
	}
	asJSON := func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	}
	var b strings.Builder
	t, err := template.New("manifest").Funcs(template.FuncMap{"json": asJSON}).Parse(manifestText)
	if err == nil {
		err = t.Execute(&b, m)
	}
	return b.String(), err
}

// manifestName makes a name for the objects of a job: the program's, and something that no
// other job has.
func manifestName(program string, salt [32]byte) string {
	var b strings.Builder
	b.WriteString("gorun-")
	for _, c := range strings.ToLower(path.Base(program)) {
		if c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			c = '-'
		}
		if b.Len() < podNameBytesMax {
			b.WriteRune(c)
		}
	}
	return strings.TrimRight(b.String(), "-") + "-" + hex.EncodeToString(salt[:3])
}

// podCommand returns the words of a command line that was parsed without an error, but what is
// for the manifest alone, and the variables that it passes on by their names.
func podCommand(args []string) (words []string, passed []variable) {
	start := true // where flags are
	for i := 0; i < len(args); i++ {
		w := args[i]
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(w, "-"), "-"), "=")
		at := slices.IndexFunc(flags, func(f flag) bool { return slices.Contains(f.names, name) })
		switch {
		case start && w == "--":
			return append(words, args[i:]...), passed
		case !start || w == "-" || !strings.HasPrefix(w, "-") || at < 0:
			words, start = append(words, w), w == ":"
			continue
		}
		used := []string{w}
		if flags[at].value != "" && !given {
			i++
			value, used = args[i], append(used, args[i])
		}
		if name == "x" && !strings.Contains(value, "=") {
			passed = append(passed, variable{value, os.Getenv(value)})
		}
		if name != flagManifest && name != flagImage {
			words = append(words, used...)
		}
	}
	return words, passed
}

// forPods decides how many ranks the programs have, for a manifest, and checks what the pods
// cannot do.
func (o *options) forPods() error {
	if len(o.apps) == 1 && o.apps[0].ranks == 0 {
		o.apps[0].ranks = o.perPod()
	}
	for i := range o.apps {
		o.apps[i].ranks = max(1, o.apps[i].ranks)
		if a := o.apps[i]; needsBuild(a.program) {
			return fmt.Errorf("-%s: %s is Go code: build it into the image, and name the program as it is called there", flagManifest, a.program)
		}
	}
	switch n := o.size(); {
	case n > ranksMax:
		return fmt.Errorf("%d ranks: at most %d", n, ranksMax)
	case len(o.hosts) > 0 || o.rsh != nil:
		return fmt.Errorf("-%s: the hosts are pods: leave out -host, -hostfile and -rsh", flagManifest)
	case o.image == "":
		return fmt.Errorf("-%s: -%s names the image that the pods run", flagManifest, flagImage)
	}
	return nil
}

// perPod returns the ranks of a pod.
func (o *options) perPod() int { return max(1, o.policy.PerHost) }
