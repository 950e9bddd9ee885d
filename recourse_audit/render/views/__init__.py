"""One page a module: what a page shows, worded and formatted, as a frozen record."""
