package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/apiserver"
)

// resources are the API paths of the objects in a manifest, in the order of the manifest.
var resources = []string{
	"/api/v1/namespaces/default/services",
	"/api/v1/namespaces/default/secrets",
	"/apis/batch/v1/namespaces/default/jobs",
}

// stored has the fields of an object that the test reads.
type stored struct {
	Metadata struct{ Name, UID string }
	Spec     struct {
		ClusterIP      string
		Completions    int
		CompletionMode string
		BackoffLimit   int
		Template       struct {
			Spec struct{ Containers []struct{ Command []string } }
		}
		PublishNotReadyAddresses bool
	}
	Data map[string][]byte
}

// The API server of Kubernetes admits every object of a manifest, with strict validation of its fields. The command
// of the pods has the arguments of the command line, including arguments that have a meaning in YAML. Each $ is
// doubled, because Kubernetes expands $(NAME).
func TestManifestIsAdmitted(t *testing.T) {
	s := apiserver.Start(t)
	for name, tc := range map[string]struct {
		flags    []string
		pods     int
		restarts int
		command  []string
	}{
		"one rank":        {[]string{"prog"}, 1, 0, []string{"gorun", "prog"}},
		"ranks":           {[]string{"-np", "16", "-ppn", "4", "-l", "prog", "-x"}, 4, 0, []string{"gorun", "-np", "16", "-ppn", "4", "-l", "prog", "-x"}},
		"several":         {[]string{"-n", "1", "a", ":", "-n", "2", "--", "b"}, 3, 0, []string{"gorun", "-n", "1", "a", ":", "-n", "2", "--", "b"}},
		"respawn":         {[]string{"-np", "4", "-ppn", "2", "-on-failure", "respawn=5", "-spares", "1", "a", ":", "b"}, 4, 5, []string{"gorun", "-np", "4", "-ppn", "2", "-on-failure", "respawn=5", "-spares", "1", "a", ":", "b"}},
		"what YAML means": {[]string{"Prog_1.É", "no", "- x: {y}", "'\"\t#\\", "$(HOME) $$"}, 1, 0, []string{"gorun", "Prog_1.É", "no", "- x: {y}", "'\"\t#\\", "$$(HOME) $$$$"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := gorun(t, nil, append([]string{"-k8s-manifest", "-image", "example.org/image:1"}, tc.flags...)...)
			require.Zero(t, got.code, got.err)
			objects := strings.Split(got.out, "\n---\n")
			require.Len(t, objects, len(resources))
			var all [3]stored
			for i, text := range objects {
				refuses(t, s, resources[i], text)
				created := request(t, s, http.MethodPost, resources[i]+strict, text, http.StatusCreated)
				all[i] = request(t, s, http.MethodGet, resources[i]+"/"+created.Metadata.Name, "", http.StatusOK)
				require.Equal(t, created.Metadata, all[i].Metadata)
			}
			require.Equal(t, "None", all[0].Spec.ClusterIP)
			require.True(t, all[0].Spec.PublishNotReadyAddresses)
			require.Regexp(t, "^[0-9a-f]{64}$", string(all[1].Data["secret"]))
			require.Equal(t, tc.pods, all[2].Spec.Completions)
			require.Equal(t, "Indexed", all[2].Spec.CompletionMode)
			require.Equal(t, tc.restarts, all[2].Spec.BackoffLimit)
			require.Equal(t, tc.command, all[2].Spec.Template.Spec.Containers[0].Command)
			for i, o := range all {
				request(t, s, http.MethodDelete, resources[i]+"/"+o.Metadata.Name+"?propagationPolicy=Background", "", http.StatusOK)
				request(t, s, http.MethodGet, resources[i]+"/"+o.Metadata.Name, "", http.StatusNotFound)
			}
		})
	}
}

// strict makes the API server return an error instead of a warning for an unknown or repeated
// field.
const strict = "?fieldValidation=Strict"

// refuses checks that the API server refuses an object with an unknown field.
func refuses(t *testing.T, s *apiserver.Server, path, text string) {
	t.Helper()
	wrong := strings.Replace(text, "\nmetadata:\n", "\nmetadata:\n  nickname: x\n", 1)
	require.NotEqual(t, text, wrong)
	status, answer := s.Do(http.MethodPost, path+strict, []byte(wrong))
	require.Equal(t, http.StatusBadRequest, status, string(answer))
	require.Contains(t, string(answer), `unknown field \"metadata.nickname\"`)
}

// request sends a request, checks the status and decodes the object in the answer.
func request(t *testing.T, s *apiserver.Server, method, path, text string, want int) (o stored) {
	t.Helper()
	status, answer := s.Do(method, path, []byte(text))
	require.Equal(t, want, status, fmt.Sprintf("%s %s\n%s\n%s", method, path, text, answer))
	require.NoError(t, json.Unmarshal(answer, &o))
	return o
}
