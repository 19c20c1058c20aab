"""Typed conflict pairs for training a relation verifier: every anchor claim with a contradicting, a supporting and a neutral twin."""
