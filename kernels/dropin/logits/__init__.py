"""Functions of logits: what each computes, by a kernel or by torch, and its gradient."""
