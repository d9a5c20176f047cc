// Package godoc checks the doc comments of aliases for types that internal packages define.
package godoc
