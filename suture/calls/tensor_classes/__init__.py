"""Subclasses of torch.Tensor and other objects that take part in torch's operations."""
