// Package godoc checks what the documentation says of types that other packages define.
package godoc
