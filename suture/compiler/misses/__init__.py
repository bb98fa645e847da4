"""What happens at a miss: what earlier calls looked like, limits, reasons, installing."""
