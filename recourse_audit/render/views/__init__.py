"""What each page shows, as a frozen record made from saved data alone."""
