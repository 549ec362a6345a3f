"""Makers of content: each writes blocks of one sort and drafts the questions that they can answer."""

__all__: list[str] = []
