"""What the user holds: Core, CompiledModel, InferRequest, AsyncInferQueue, under OpenVINO's names."""
