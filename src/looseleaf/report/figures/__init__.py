"""Figures of the HTML report as inline SVG: readable in print, by the colour-blind, and without a network."""
