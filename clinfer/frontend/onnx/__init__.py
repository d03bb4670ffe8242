"""What OpenVINO's import of ONNX loses or cannot read, mended before and while it reads a model.

A model is looked through for nodes of the table `operators`. Those that need it get another domain, in which they are
read by converters of this folder; all others keep OpenVINO's own. The bytes of weights are not touched.
"""
