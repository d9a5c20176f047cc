//go:build !race

package manifest_test

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

var gorun string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gorun-manifest-")
	if err == nil {
		gorun = filepath.Join(dir, "gorun")
		err = launch.Install("../../../..", dir, nil, "cmd/gorun") // with the go.mod of the root module
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// objects are the objects of a manifest.
type objects struct {
	service core.Service
	secret  core.Secret
	job     batch.Job
}

// parse decodes a manifest strictly, so that an unknown or repeated field is an error.
func parse(t *testing.T, text string) objects {
	t.Helper()
	var o objects
	parts := strings.Split(text, "\n---\n")
	require.Len(t, parts, 3)
	for i, into := range []any{&o.service, &o.secret, &o.job} {
		require.NoError(t, yaml.UnmarshalStrict([]byte(parts[i]), into, yaml.DisallowUnknownFields), parts[i])
	}
	return o
}

// The objects of a manifest match the types of Kubernetes. They also match each other in names, labels,
// ports, numbers of pods and the secret.
func TestManifestIsOfKubernetesTypes(t *testing.T) {
	for name, tc := range map[string]struct {
		flags       []string
		pods, slots int32
		command     []string
	}{
		"one rank":        {[]string{"prog"}, 1, 1, []string{"gorun", "prog"}},
		"ranks":           {[]string{"-np", "16", "-ppn", "4", "-l", "prog", "-x"}, 4, 4, []string{"gorun", "-np", "16", "-ppn", "4", "-l", "prog", "-x"}},
		"a pod not full":  {[]string{"-np", "5", "-ppn=2", "/bin/prog"}, 3, 2, []string{"gorun", "-np", "5", "-ppn=2", "/bin/prog"}},
		"several":         {[]string{"-n", "1", "a", ":", "-n", "2", "--", "b", ":", "-image", "c"}, 3, 1, []string{"gorun", "-n", "1", "a", ":", "-n", "2", "--", "b", ":", "-image", "c"}},
		"what YAML means": {[]string{"Prog_1.É", "no", "- x: {y}", "'\"\t#\\", "$(HOME) $$"}, 1, 1, []string{"gorun", "Prog_1.É", "no", "- x: {y}", "'\"\t#\\", "$$(HOME) $$$$"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(gorun, append([]string{"-k8s-manifest", "-image", "example.org/image:1"}, tc.flags...)...).Output()
			require.NoError(t, err)
			o := parse(t, string(out))
			for _, meta := range []struct{ kind, version, name string }{
				{o.service.Kind, o.service.APIVersion, o.service.Name}, {o.secret.Kind, o.secret.APIVersion, o.secret.Name}, {o.job.Kind, o.job.APIVersion, o.job.Name},
			} {
				require.Equal(t, o.job.Name, meta.name)
				require.Empty(t, validation.IsDNS1035Label(meta.name+"-99999"), "the name of each pod must be valid, too")
				require.Contains(t, []string{"Service v1", "Secret v1", "Job batch/v1"}, meta.kind+" "+meta.version)
			}
			require.Equal(t, core.ClusterIPNone, o.service.Spec.ClusterIP)
			require.True(t, o.service.Spec.PublishNotReadyAddresses, "pods find the first before it is ready")
			template := o.job.Spec.Template
			require.Equal(t, template.Labels, o.service.Spec.Selector)
			require.Equal(t, o.service.Name, template.Spec.Subdomain)
			require.Equal(t, batch.IndexedCompletion, *o.job.Spec.CompletionMode)
			require.Equal(t, []int32{tc.pods, tc.pods, 0}, []int32{*o.job.Spec.Completions, *o.job.Spec.Parallelism, *o.job.Spec.BackoffLimit})
			require.Equal(t, core.RestartPolicyNever, template.Spec.RestartPolicy)
			c := template.Spec.Containers[0]
			require.Equal(t, tc.command, c.Command)
			require.Equal(t, "example.org/image:1", c.Image)
			require.EqualValues(t, tc.slots, c.Resources.Requests.Cpu().Value())
			require.Equal(t, o.service.Spec.Ports[0].Port, c.Ports[0].ContainerPort)
			require.Equal(t, o.secret.Name, template.Spec.Volumes[0].Secret.SecretName)
			require.Equal(t, template.Spec.Volumes[0].Name, c.VolumeMounts[0].Name)
			require.EqualValues(t, 0o400, *template.Spec.Volumes[0].Secret.DefaultMode)
			key, err := hex.DecodeString(o.secret.StringData["secret"])
			require.NoError(t, err)
			require.Len(t, key, 32)
		})
	}
}

// Two manifests have different names and secrets, so that their pods cannot meet.
func TestManifestsDiffer(t *testing.T) {
	var all [2]objects
	for i := range all {
		out, err := exec.Command(gorun, "-k8s-manifest", "-image", "i", "prog").Output()
		require.NoError(t, err)
		all[i] = parse(t, string(out))
	}
	require.NotEqual(t, all[0].job.Name, all[1].job.Name)
	require.NotEqual(t, all[0].secret.StringData, all[1].secret.StringData)
}
