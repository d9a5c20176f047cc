package private

// ReadAny works as Read, but also reads memory of this process.
var ReadAny = read
