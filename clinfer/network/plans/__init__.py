"""Plans of segments: traced ahead, made for shapes, kept and specialised."""
