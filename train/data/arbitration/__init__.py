"""Arbitration records for training: contradictions whose verdict follows from the evidence that the record itself holds."""
