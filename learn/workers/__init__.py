"""Where jobs run. A job's result depends on its arguments alone, so a place changes no result."""
