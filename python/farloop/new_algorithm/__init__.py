"""Start of an algorithm in Rust: its files, and what a program can translate of one in Python."""
