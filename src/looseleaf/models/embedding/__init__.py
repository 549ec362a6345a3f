"""Embedding models on a server: one client for vLLM and every other server that speaks OpenAI's embeddings."""
