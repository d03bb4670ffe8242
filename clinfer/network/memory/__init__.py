"""The memory of networks: slots, aliases, states and what grows."""
