"""Measured times of kernels: what they are kept by, tables of them, and which tables hold for a device."""
