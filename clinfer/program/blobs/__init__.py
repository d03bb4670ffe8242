"""Programs as bytes: sections (`container`), frozen data (`records`), and what a program holds (`programs`)."""
