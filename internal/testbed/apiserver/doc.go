// Package apiserver runs an API server of Kubernetes with an etcd of its own, for tests: what it
// admits, a cluster admits. Nothing else of a cluster is there, so that no pod is ever started.
//
//	s := apiserver.Start(t)                                                  // or t.Skip
//	status, answer := s.Do(http.MethodPost, "/api/v1/namespaces/default/services", yaml)
//
// It needs etcd and kube-apiserver, in $KUBEBUILDER_ASSETS as other projects have them, or in
// $PATH. build.sh builds the server. Both keep their state in the test's directory, listen on
// 127.0.0.1 alone, and end with the test.
//
// Unstable: any release may change this package, also after v1.
package apiserver
