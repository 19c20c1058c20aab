"""ArbGraph with small models only: a reader, learned scalars, and credibility propagation over the answers that documents give."""
