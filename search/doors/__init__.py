"""Doors for programs, pages and other frameworks: the protocol and what answers it, the web board's files, policies,
OpenSpiel. Commands open them."""
