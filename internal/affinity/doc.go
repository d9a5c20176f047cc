// Package affinity distributes the waiting ranks of a node evenly over its processors.
//
// If a node has more ranks than processors, the kernel can run three of four ranks on one processor and the fourth
// on the other one for a tenth of a second, because its load balancer seldom looks at processors that are both
// busy. A collective operation then takes the time that the crowded processor needs.
package affinity
