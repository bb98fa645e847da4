"""Operations on tensors, arrays and symbolic numbers: nodes of the graph."""
