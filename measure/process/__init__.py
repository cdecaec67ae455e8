"""The process of a point: isolated, limited in time, restartable."""
