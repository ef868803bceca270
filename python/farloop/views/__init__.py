"""Views: pages from templates, tables for page, terminal and files, and small pictures."""
