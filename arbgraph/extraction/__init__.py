"""Documents -> claims. `SyntacticExtractor` needs no language model."""
