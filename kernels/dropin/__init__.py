"""Offer the drop-in ``softmax`` and ``log_softmax``.

``api`` has the public functions. ``eligible`` decides which calls the kernels may take.
``operators`` registers custom operators and derivatives with torch. ``library_function`` finds and
remembers the launch for a shape, and ``routes`` launches the kernels in CUDA C++ or Triton.
"""
