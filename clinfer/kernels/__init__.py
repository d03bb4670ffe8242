"""How it is run: kernel specifications, the selector, the jitter and the kernel cache."""
