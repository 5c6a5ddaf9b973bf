"""An OpenAI-compatible server with continuous batching and faults."""
