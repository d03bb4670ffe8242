"""Memory and queues that the user owns: remote contexts and tensors over the user's OpenCL objects."""
