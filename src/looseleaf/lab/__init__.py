"""The memory lab: what a stored run says about memories, and how sure that is."""
