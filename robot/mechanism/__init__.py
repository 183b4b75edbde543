"""Kinds of mechanism, compiled to graphs of states and timed operations."""
