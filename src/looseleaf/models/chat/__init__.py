"""Chat models: one client for every server that speaks OpenAI's chat completions, and the roles it can play.

A conversation is built once (`conversation`), sent by one client (`client`: cache, limits, retries) through a
server (`http`, or a GGUF file in this process), and the reply is parsed into a turn (`parsing`).
"""
