"""Small programs that use clinfer as its users do."""
