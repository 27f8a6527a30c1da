"""Trees as pictures: terminal, SVG, HTML."""
