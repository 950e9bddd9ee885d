"""Stage 8: records come in; pages, letters, documents and terminal views go out."""
