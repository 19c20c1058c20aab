from tests.verifier.conftest import tiny_base

__all__ = ["tiny_base"]
