"""What commands show on a terminal: tables and progress bars. It knows no game."""
