"""Figures: each a function of estimates, drawn with Matplotlib to SVG and PDF."""
