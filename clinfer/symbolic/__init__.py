"""Sizes that are not known yet: dimensions, shape rules, symbols and their traces."""
