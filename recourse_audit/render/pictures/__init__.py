"""One picture a module: a small record comes in, SVG and the words that can replace it go out."""
