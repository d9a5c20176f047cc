package private

// ReadAny works as Read, but also reads memory of this process.
var ReadAny = read

// CallMost is the largest number of bytes that the kernel copies in one call.
const CallMost = callMost
