// Package manifest tests what gorun -k8s-manifest prints against the API types of Kubernetes.
// It is a module of its own, because these are not to be in the go.sum of a user's program.
//
// Unstable: any release may change this package, also after v1.
package manifest
