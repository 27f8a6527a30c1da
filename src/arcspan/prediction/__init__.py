"""What a model says of a sentence, once, whoever computes it: torch in training, ONNX in an
installed parser.
"""
