"""What Python does with values: attributes, operators, items, iteration, exceptions."""
