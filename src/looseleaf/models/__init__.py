"""Models: the embedded extractive model, scripted models, and making roles from their specs."""
