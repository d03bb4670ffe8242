"""Serving models on Ray Serve by the Open Inference Protocol v2: REST with binary tensors, and gRPC."""
