// Package manifest tests what gorun -k8s-manifest prints against the API types of Kubernetes.
// It is a module of its own, so that these types do not add lines to the go.sum of a user's program.
//
// Unstable: any release may change this package, also after v1.
package manifest
