"""Offer the drop-in ``softmax`` and ``log_softmax``: routing, torch operators, autograd."""
