// Package chart draws what a comparison measured as PNG pictures: curves over message
// sizes and bars of ratios. A picture is 850 points wide, what a page of a README
// gives it, and has two pixels for each, so that a text of 12 points is legible there.
//
// Systems also differ in the shape of their marks, and bars of losses point to the other
// side, and the colours are distinguishable for the colour-blind.
package chart
