package hugepages

// Collapse is what Traffic calls where no other is given.
var Collapse = collapse
