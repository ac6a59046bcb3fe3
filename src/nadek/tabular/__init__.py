"""Tables: column types, encoding, and files and data frames in and out."""
