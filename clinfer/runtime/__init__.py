"""The device: discovery, capabilities, engine, memory, programs, kernels, streams and events."""
