// Package chart draws PNG pictures of the results of a comparison: curves over message sizes, and
// bars of ratios. A picture is 850 points wide, which is the width of a page of a README. It has
// two pixels per point, so that a text of 12 points is legible there.
//
// The colours are distinguishable for the colour-blind. In addition, curves of different systems have marks
// of different shapes, and bars of ratios below 1 point to the left.
package chart
