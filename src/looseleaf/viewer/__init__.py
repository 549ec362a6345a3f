"""A local web application over stored runs: questions, trajectories with page images, memory, audit labels."""
