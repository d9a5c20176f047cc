package private

// ReadAny is Read, from this process too.
var ReadAny = read
