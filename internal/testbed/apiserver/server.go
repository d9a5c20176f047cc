package apiserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const (
	// patience is the time within which the server must be ready, and the timeout of a request. No measurement
	// depends on it.
	patience = 90 * time.Second
	// poll is the interval at which await polls the server.
	poll = 50 * time.Millisecond
	// tries is the number of attempts to start the server. Each attempt uses different ports. An attempt
	// fails if another process has bound one of its ports meanwhile.
	tries = 3
)

// Server is an API server that allows its user every request. If the server cannot be reached, the methods of
// Server fail the test that has started it.
type Server struct {
	tb     testing.TB
	url    string
	token  string
	client *http.Client
}

// Start starts the server and returns when it is ready. It skips the test if a program is missing.
func Start(tb testing.TB) *Server { //nolint:thelper // it is the package's purpose, not a detail of a test
	etcd, api := find("etcd"), find("kube-apiserver")
	switch {
	case api == "":
		tb.Skip("apiserver: needs kube-apiserver in $KUBEBUILDER_ASSETS or $PATH (internal/testbed/apiserver/build.sh DIR builds it)")
	case etcd == "":
		tb.Skip("apiserver: needs etcd in $KUBEBUILDER_ASSETS or $PATH (apt-get install etcd-server)")
	}
	var err error
	for range tries {
		s := &Server{tb: tb, token: rand.Text()}
		if err = s.start(etcd, api); err == nil {
			return s
		}
	}
	tb.Fatalf("apiserver: %v", err)
	return nil
}

// find returns the path of a program, or "" if the program is not found.
func find(name string) string {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// start starts both processes with a directory and ports of their own, and waits until the server is ready.
func (s *Server) start(etcd, api string) error {
	dir := s.tb.TempDir()
	var ports [3]string
	if err := errors.Join(free(ports[:]), writeKey(filepath.Join(dir, "key")), s.writeToken(filepath.Join(dir, "tokens"))); err != nil {
		return err
	}
	clients, peers := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	store, err := begin(s.tb, dir, etcd, "--name=one", "--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=one="+peers)
	if err != nil {
		return err
	}
	server, err := begin(s.tb, dir, api, "--etcd-servers="+clients, "--bind-address=127.0.0.1", "--secure-port="+ports[2],
		"--cert-dir="+dir, "--token-auth-file="+filepath.Join(dir, "tokens"), "--authorization-mode=AlwaysAllow",
		"--service-account-issuer=https://localhost", "--service-account-key-file="+filepath.Join(dir, "key"),
		"--service-account-signing-key-file="+filepath.Join(dir, "key"), "--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none")
	if err != nil {
		return err
	}
	s.url = "https://127.0.0.1:" + ports[2]
	return s.await(store, server, filepath.Join(dir, "apiserver.crt"))
}

// await waits until the server is ready. It polls, because the server does not announce that it is ready.
func (s *Server) await(store, server *process, certificate string) error {
	ticks := time.NewTicker(poll)
	defer ticks.Stop()
	late := time.After(patience)
	for {
		if s.client == nil {
			s.trust(certificate)
		} else if status, _, err := s.ask(http.MethodGet, "/readyz", nil); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-ticks.C:
		case <-store.ended:
			return store.failure()
		case <-server.ended:
			return server.failure()
		case <-late:
			return fmt.Errorf("not ready after %v: %w", patience, server.failure())
		}
	}
}

// trust makes the client if the server has written its certificate. The file also has the certificate of
// the signer.
func (s *Server) trust(certificate string) {
	text, err := os.ReadFile(certificate)
	pool := x509.NewCertPool()
	if err == nil && pool.AppendCertsFromPEM(text) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
		s.client = &http.Client{Transport: transport, Timeout: patience}
		s.tb.Cleanup(transport.CloseIdleConnections)
	}
}

// Do sends a request with a body in YAML, or without a body if it is nil. Do returns the status and
// the body, in JSON, of the response.
func (s *Server) Do(method, path string, body []byte) (status int, answer []byte) {
	s.tb.Helper()
	status, answer, err := s.ask(method, path, body)
	if err != nil {
		s.tb.Fatalf("apiserver: %v", err)
	}
	return status, answer
}

func (s *Server) ask(method, path string, body []byte) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(s.tb.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/yaml")
	request.Header.Set("Accept", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}

// writeToken writes the file by which the server authenticates clients. Its fields are the token, and the
// name, ID and groups of the user.
func (s *Server) writeToken(path string) error {
	return os.WriteFile(path, []byte(s.token+",admin,1,system:masters\n"), 0o600)
}

// writeKey writes a new key. The server requires one for signing the tokens of pods.
func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// free sets the elements of ports to different TCP ports on which no process listens.
func free(ports []string) error {
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }() // closed after the last Listen, so that all ports differ
		ports[i] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	return nil
}
