"""Reading other people's trajectories into an ordinary RUN: one file a format, and what they share."""
