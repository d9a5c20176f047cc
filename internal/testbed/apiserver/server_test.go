package apiserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/apiserver"
)

func TestServerDecodesStrictly(t *testing.T) {
	s := apiserver.Start(t)
	const namespace = "/api/v1/namespaces?fieldValidation=Strict"
	status, answer := s.Do(http.MethodPost, namespace, []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"))
	require.Equal(t, http.StatusCreated, status, string(answer))
	status, answer = s.Do(http.MethodPost, namespace, []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\nspek: {}\n"))
	require.Equal(t, http.StatusBadRequest, status, string(answer))
	require.Contains(t, string(answer), `unknown field \"spek\"`)
	status, _ = s.Do(http.MethodGet, "/api/v1/namespaces/b", nil)
	require.Equal(t, http.StatusNotFound, status)
}

func TestWithoutPrograms(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("PATH", "")
	t.Run("skipped", func(t *testing.T) {
		t.Cleanup(func() { require.True(t, t.Skipped()) })
		apiserver.Start(t)
		t.Fatal("started nothing")
	})
}
