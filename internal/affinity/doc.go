// Package affinity distributes the waiting ranks of a node evenly over its processors.
//
// If a node has more ranks than processors, the kernel may distribute them unevenly. For example, it can run three of
// four ranks on one of two processors for a tenth of a second, because its load balancer seldom looks at processors
// that are all busy. A collective operation then takes the time that the crowded processor needs.
package affinity
