// Package apiserver runs an API server of Kubernetes with an etcd of its own, for tests. If this server
// admits an object, a cluster with the same admission plugins also admits it. The other parts of a cluster do not
// run. Therefore no pod is ever started.
//
//	s := apiserver.Start(t)                                                  // or t.Skip
//	status, answer := s.Do(http.MethodPost, "/api/v1/namespaces/default/services", yaml)
//
// The server needs the programs etcd and kube-apiserver, in the directory $KUBEBUILDER_ASSETS or in $PATH.
// Other projects also use KUBEBUILDER_ASSETS. build.sh builds kube-apiserver. Both programs store their state
// in the test's temporary directory, listen only on 127.0.0.1, and end with the test.
//
// Unstable: any release may change this package, also after v1.
package apiserver
