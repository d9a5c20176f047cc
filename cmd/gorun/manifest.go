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

// manifestText is the template of the manifest: a Service, a Secret and an Indexed Job. Values that can have characters
// with a meaning in YAML are inserted as JSON, which is valid YAML.
//
//go:embed manifest.yaml.tmpl
var manifestText string

// Names of flags that are not passed on to gorun in the pods.
const (
	flagManifest = "k8s-manifest"
	flagImage    = "image"
)

// podPort is the port on which gorun in the first pod listens for the other pods.
const podPort = 29400

// podGorun is the name of gorun's executable in an image. The container finds it in PATH.
const podGorun = "gorun"

// podNameBytesMax is the largest length of the prefix gorun- and the program's name together. A name has at most
// 63 bytes (RFC 1035). The other bytes are for the random suffix and the number of a pod.
const podNameBytesMax = 40

// variable is an environment variable of a container.
type variable struct{ Name, Value string }

// manifest has the values that manifestText uses.
type manifest struct {
	Name, Image, Secret string
	Pods, Slots, Port   int
	Restarts            int // with -on-failure respawn, the number of restarts of the job; else 0
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
		m.Command = append(m.Command, strings.ReplaceAll(w, "$", "$$")) // without this, Kubernetes expands $(NAME)
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

// manifestName returns a name for the Kubernetes objects of a job: the name of the program, and a random
// suffix that distinguishes the job from others.
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

// podCommand returns the words of a command line without the flags that only affect the manifest. passed has
// the variables that -x names without a value, with the values of this process's environment. The command
// line must have been parsed without an error.
func podCommand(args []string) (words []string, passed []variable) {
	start := true // flags may follow; false after the name of a program
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
		if flags[at].value != "" && !given && !flags[at].optional() {
			i++
			value, used = args[i], append(used, args[i])
		}
		if v := (variable{value, os.Getenv(value)}); name == "x" && !strings.Contains(value, "=") && !slices.Contains(passed, v) {
			passed = append(passed, v)
		}
		if name != flagManifest && name != flagImage {
			words = append(words, used...)
		}
	}
	return words, passed
}

// forPods sets the number of ranks of each program for a manifest. It returns an error for flags and
// programs that are not possible in pods.
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
	case o.race || len(o.buildFlags) > 0:
		return fmt.Errorf("-%s: the pods build no program: leave out -race and -build-flags", flagManifest)
	case o.image == "":
		return fmt.Errorf("-%s: -%s names the image that the pods run", flagManifest, flagImage)
	}
	return nil
}

// perPod returns the number of ranks of a pod.
func (o *options) perPod() int { return max(1, o.policy.PerHost) }
