package hugepages

// Collapse is the function that Traffic calls by default.
var Collapse = collapse
