// This file lets Go declare functions without a body: their bodies are the runtime's.
