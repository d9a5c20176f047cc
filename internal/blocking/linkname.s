// Because of this file, the compiler accepts functions without a body. Their bodies are in Go's runtime.
