"""Stage 6: settings come in, an audit of one or many subjects goes out."""
